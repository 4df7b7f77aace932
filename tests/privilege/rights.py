"""What a role allows, in parts that a recorded call can be held against one by one."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any, Final

from tests.privilege.calls import Call

KEYS: Final = ("dynamodb:LeadingKeys", "s3:prefix")
"""The condition keys that narrow which items or objects an action may touch."""

_OPERATORS: Final = {
    # Of a request with many keys each must fit: `ForAnyValue` would let one good key open the door.
    "dynamodb:LeadingKeys": ("ForAllValues:StringLike", "ForAllValues:StringNotLike"),
    "s3:prefix": ("StringLike", "StringNotLike"),
}


@dataclass(frozen=True, slots=True)
class Statement:
    """One allowed statement; `keys` are patterns, `unlike` the ones that must not fit."""

    actions: tuple[str, ...]
    resources: tuple[str, ...]
    keys: tuple[str, ...] = ()
    unlike: tuple[str, ...] = ()

    def allows(self, call: Call) -> bool:
        """Whether IAM would let the call through by this statement alone."""
        return (
            call.action in self.actions
            and any(_fits(call.resource, pattern) for pattern in self.resources)
            and all(self._key_fits(key) for key in call.keys)
        )

    def _key_fits(self, key: str) -> bool:
        liked = not self.keys or any(fnmatchcase(key, pattern) for pattern in self.keys)
        return liked and not any(fnmatchcase(key, pattern) for pattern in self.unlike)


@dataclass(frozen=True, slots=True)
class Right:
    """The smallest thing that a role may have too much of: an action on one kind of resource, or a
    key pattern (then `action` is the condition's name)."""

    action: str
    resource: str

    def __str__(self) -> str:
        return f"{self.action} on {self.resource}"


def statements_of(document: Mapping[str, Any]) -> list[Statement]:
    """The statements of a policy document. Ours only ever allow."""
    return [_statement(part) for part in _listed(document["Statement"])]


def rights(statements: Sequence[Statement]) -> dict[Right, list[Statement]]:
    """Each right with the statements that give it, lanes and their kin taken as one."""
    found: dict[Right, list[Statement]] = {}
    for statement in statements:
        for right in _rights(statement):
            found.setdefault(right, []).append(statement)
    return found


def uses(right: Right, statement: Statement, call: Call) -> bool:
    """Whether the call needs this right of this statement."""
    if not statement.allows(call):
        return False
    if right.action in KEYS:
        return any(fnmatchcase(key, right.resource) for key in call.keys)
    return call.action == right.action and _family(call.resource) == _family(right.resource)


def _rights(statement: Statement) -> Iterator[Right]:
    for action in statement.actions:
        for resource in statement.resources:
            yield Right(action, _family(resource))
    for pattern in statement.keys:
        yield Right("s3:prefix" if "s3:ListBucket" in statement.actions else KEYS[0], pattern)


def _family(resource: str) -> str:
    """Queues of one kind differ by name alone; an object stands for its prefix, a secret for its name."""
    name = resource.rpartition(":")[2]
    if ":sqs:" in resource and "errands" not in name:
        return "lanes, dead letters" if name.endswith("-dead") else "lanes"
    if ":s3:" in resource and "/" in name:
        return "/".join([*name.split("/")[:2], "*"])
    if ":ecs:" in resource:
        return name.rpartition("/")[0] + "/*"
    if ":secret:" in resource:
        return name.rpartition("-")[0]
    return name.split("/stream/")[0] + ("/stream" if "/stream/" in name else "")


def _fits(resource: str, pattern: str) -> bool:
    return fnmatchcase(resource, pattern)


def _statement(part: Mapping[str, Any]) -> Statement:
    if part["Effect"] != "Allow":
        raise ValueError(f"not an Allow: {part}")
    liked, unlike = [], []
    for operator, keys in part.get("Condition", {}).items():
        for key, patterns in keys.items():
            if key not in KEYS or operator not in _OPERATORS[key]:
                raise ValueError(f"a condition that is not understood: {operator} {key}")
            (unlike if "NotLike" in operator else liked).extend(_listed(patterns))
    actions, resources = _listed(part["Action"]), _listed(part["Resource"])
    return Statement(tuple(actions), tuple(resources), tuple(liked), tuple(unlike))


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]
