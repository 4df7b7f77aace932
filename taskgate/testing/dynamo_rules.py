"""What DynamoDB refuses and emulators let through: each request of a test is held to it.

`watched` looks at every request that leaves this process, whichever client makes it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Final

from botocore.client import BaseClient

from taskgate.testing.aws_resources import INDEXES

KEYS: Final = frozenset({"pk", "sk"} | {name for pair in INDEXES.values() for name, _ in pair})
"""Every attribute that is a key of a table or an index: never empty, never null."""
WORDS: Final = frozenset(
    {"SET", "REMOVE", "ADD", "DELETE", "AND", "OR", "NOT", "BETWEEN", "IN", "if_not_exists"}
    | {"list_append", "attribute_exists", "attribute_not_exists", "attribute_type", "size"}
    | {"begins_with", "contains"}
)
MOST_KEYS: Final = 100
_TOKEN: Final = re.compile(r"[#:]?\w+")
_ASSIGNED: Final = re.compile(r"(#\w+) = (:\w+)(?!\w)")
_SECONDS: Final = re.compile(r"[0-9]{1,10}")
"""Whole, and below what epoch milliseconds have been since 1970."""


class RuleBroken(AssertionError):
    """DynamoDB would refuse this request, or would never forget what it writes."""


@contextmanager
def watched() -> Iterator[None]:
    """For the block, a request that breaks a rule raises `RuleBroken` instead of being sent."""
    every: Any = BaseClient
    real = every._make_api_call  # noqa: SLF001 - the one way that all clients go

    def made(client: Any, operation: str, parameters: Any) -> Any:
        dynamodb = client.meta.service_model.service_name == "dynamodb"
        if dynamodb and (found := list(broken(parameters))):
            raise RuleBroken(f"{operation}: " + "; ".join(found))
        return real(client, operation, parameters)

    every._make_api_call = made  # noqa: SLF001
    try:
        yield
    finally:
        every._make_api_call = real  # noqa: SLF001


def broken(request: Any) -> Iterator[str]:
    """Each rule that a request, or a part of it, does not keep."""
    if isinstance(request, Mapping):
        yield from _expressions(request)
        yield from _attributes(request)
        for name, part in request.items():
            if name == "TransactItems":
                yield from _transaction(part)
            if name == "Keys" and len(part) > MOST_KEYS:
                yield f"{len(part)} keys in one batch"
            yield from broken(part)
    elif isinstance(request, list | tuple):
        for part in request:
            yield from broken(part)


def _expressions(request: Mapping[str, Any]) -> Iterator[str]:
    texts = [str(t) for name, t in request.items() if name.endswith("Expression")]
    tokens = {token for text in texts for token in _TOKEN.findall(text)}
    yield from (f"{t} is not aliased" for t in tokens if t[0] not in "#:" and t not in WORDS)
    given = {
        *request.get("ExpressionAttributeNames", ()),
        *request.get("ExpressionAttributeValues", ()),
    }
    aliases = {token for token in tokens if token[0] in "#:"}
    yield from (f"{alias} is not used" for alias in given - aliases)
    yield from (f"{alias} means nothing" for alias in aliases - given)


def _attributes(request: Mapping[str, Any]) -> Iterator[str]:
    """Of an item or a key that is given whole, and of what an update assigns."""
    for part in ("Item", "Key", "ExclusiveStartKey"):
        yield from _values(request.get(part, {}))
    names = request.get("ExpressionAttributeNames", {})
    values = request.get("ExpressionAttributeValues", {})
    assigned = _ASSIGNED.findall(str(request.get("UpdateExpression", "")))
    yield from _values({names[n]: values[v] for n, v in assigned if n in names and v in values})
    yield from (f"{name} is an empty set" for name, v in values.items() if _empty_set(v))


def _values(item: Mapping[str, Any]) -> Iterator[str]:
    for name, value in item.items():
        if name in KEYS and (value.get("S") == "" or "NULL" in value):
            yield f"the key {name} is empty"
        if name == "expires_at" and not _SECONDS.fullmatch(str(value.get("N"))):
            yield f"expires_at is {value}, no epoch second"
        if _empty_set(value):
            yield f"{name} is an empty set"


def _empty_set(value: Any) -> bool:
    return isinstance(value, Mapping) and any(value.get(kind) == [] for kind in ("SS", "NS", "BS"))


def _transaction(actions: Any) -> Iterator[str]:
    touched = [_touched(next(iter(action.values()))) for action in actions]
    if len(touched) > MOST_KEYS:
        yield f"{len(touched)} actions in one transaction"
    yield from (
        f"two actions on {one}" for one in sorted({t for t in touched if touched.count(t) > 1})
    )


def _touched(action: Mapping[str, Any]) -> str:
    key = action.get("Key") or {n: v for n, v in action["Item"].items() if n in ("pk", "sk")}
    return f"{action['TableName']} {sorted((n, str(v)) for n, v in key.items())}"
