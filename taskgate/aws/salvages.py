"""Kept results on the `ephemeral` table, always as parts of somebody's transaction.

TTL is housekeeping: each condition tests the expiry itself. A result that is given once is not
deleted but expired by its taker, so that no function needs the right to delete.
"""

from __future__ import annotations

from typing import Any

from taskgate.aws.expressions import Names
from taskgate.aws.manifests import read_result, write_result
from taskgate.aws.values import Item, Value, int_of, n, s, text_of
from taskgate.salvage import Reuse, Salvage
from taskgate.task import Owner


def is_salvage(item: Item) -> bool:
    """Whether a condition met a kept result."""
    return str(item.get("pk", {}).get("S", "")).startswith("SALVAGE#")


def keep(table: str, salvage: Salvage) -> dict[str, Any]:
    """Keep it; one of before is replaced."""
    names = Names()
    values = {
        "source": s(salvage.source),
        "files": write_result(salvage.files),
        "output": s(salvage.output or ""),
        "once": n(int(salvage.once)),
        "expires_at": n(salvage.expires_at),
    }
    sets = ", ".join(f"{names.name(a)} = {names.value(v)}" for a, v in values.items())
    return {
        "TableName": table,
        "Key": _key(salvage.owner, salvage.fingerprint),
        "UpdateExpression": f"SET {sets}",
        **names.arguments(),
    }


def absent(table: str, owner: Owner, reuse: Reuse, now: int) -> dict[str, Any]:
    """Demand that there is none; the refusal brings the one that there is. `now` in seconds."""
    names = Names()
    expires_at = names.name("expires_at")
    condition = f"attribute_not_exists({expires_at}) OR {expires_at} <= {names.value(n(now))}"
    return {
        "TableName": table,
        "Key": _key(owner, reuse.fingerprint),
        "ConditionExpression": condition,
        "ReturnValuesOnConditionCheckFailure": "ALL_OLD",
        **names.arguments(),
    }


def take(table: str, salvage: Salvage, now: int) -> dict[str, Any]:
    """Demand that it is still there, as an action of a transaction; what is given once goes."""
    names = Names()
    source, expires_at = names.name("source"), names.name("expires_at")
    condition = (
        f"{source} = {names.value(s(salvage.source))} AND {expires_at} > {names.value(n(now))}"
    )
    action = {
        "TableName": table,
        "Key": _key(salvage.owner, salvage.fingerprint),
        "ConditionExpression": condition,
    }
    if not salvage.once:
        return {"ConditionCheck": {**action, **names.arguments()}}
    # Now, not long ago: DynamoDB removes nothing that expired more than five years before.
    update = f"SET {expires_at} = {names.value(n(now))}"
    return {"Update": {**action, "UpdateExpression": update, **names.arguments()}}


def decode_salvage(item: Item, owner: Owner) -> Salvage:
    """The kept result of an item."""
    source = text_of(item, "source")
    return Salvage(
        owner=owner,
        fingerprint=str(item["pk"]["S"]).rpartition("#")[2],
        source=source,
        files=read_result(item["files"], owner, source),
        output=text_of(item, "output") or None,
        expires_at=int_of(item, "expires_at"),
        once=bool(int_of(item, "once")),
    )


def _key(owner: Owner, mark: str) -> dict[str, Value]:
    return {"pk": s(f"SALVAGE#{owner}#{mark}")}
