"""A `Change` as DynamoDB expressions. Every name is an alias: no reserved word can get through."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from taskgate.aws.codec import encoded, task_key
from taskgate.aws.fields import entry_value
from taskgate.aws.values import Value, listed, n, s
from taskgate.lifecycle.change import Change, Guard, LedgerMove, PulseGuard
from taskgate.task import Owner, Task

MARK: Final = "salvage_until"
"""On the ledger: until when its user may have a kept result of a type that does not opt in."""


@dataclass
class Names:
    """Collects aliases while an expression is written."""

    names: dict[str, str] = field(default_factory=dict)
    values: dict[str, Value] = field(default_factory=dict)

    def name(self, attribute: str) -> str:
        self.names[f"#{attribute}"] = attribute
        return f"#{attribute}"

    def value(self, value: Value) -> str:
        alias = f":v{len(self.values)}"
        self.values[alias] = value
        return alias

    def arguments(self) -> dict[str, Any]:
        arguments: dict[str, Any] = {"ExpressionAttributeNames": self.names}
        if self.values:
            arguments["ExpressionAttributeValues"] = self.values
        return arguments


def task_update(table: str, change: Change, clock_shards: int) -> dict[str, Any]:
    """The guarded update of a task: arguments for UpdateItem, or an Update of a transaction."""
    names = Names()
    condition = _condition(names, change.guard)
    sets, removes = encoded(change.task_id, change.sets, clock_shards)
    assign = [f"{names.name(a)} = {names.value(v)}" for a, v in sets.items()]
    assign.append(f"{names.name('op_id')} = {names.value(s(change.stamp.op_id))}")
    assign.append(f"{names.name('version')} = {names.name('version')} + {names.value(n(1))}")
    if change.entry and "history" not in change.sets:
        entry = names.value(listed([entry_value(change.entry)]))
        history = names.name("history")
        assign.append(f"{history} = list_append({history}, {entry})")
    update = "SET " + ", ".join(assign)
    if removes:
        update += " REMOVE " + ", ".join(names.name(a) for a in removes)
    return {
        "TableName": table,
        "Key": task_key(change.task_id),
        "UpdateExpression": update,
        "ConditionExpression": condition,
        "ReturnValuesOnConditionCheckFailure": "ALL_OLD",
        **names.arguments(),
    }


def ledger_entry(
    table: str, task: Task, room: int, unmarked_at: int | None = None
) -> dict[str, Any]:
    """The books take a new task in, while there is room; `unmarked_at` (epoch seconds) demands that
    nothing is kept for their user either.
    """
    names = Names()
    active, one = names.name("active"), names.value(n(1))
    ids, condition = names.value({"SS": [task.id]}), _has_room(names, room)
    if unmarked_at is not None:
        mark, now = names.name(MARK), names.value(n(unmarked_at))
        condition += f" AND (attribute_not_exists({mark}) OR {mark} <= {now})"
    return {
        "TableName": table,
        "Key": ledger_key(task.owner, task.ledger_shard),
        "UpdateExpression": f"ADD {active} {ids}, {names.name('submitted')} {one}",
        "ConditionExpression": condition,
        "ReturnValuesOnConditionCheckFailure": "ALL_OLD",
        **names.arguments(),
    }


def ledger_ended(table: str, task: Task) -> dict[str, Any]:
    """The books take in a task that has ended in the same write: it is never active."""
    names = Names()
    one = names.value(n(1))
    return {
        "TableName": table,
        "Key": ledger_key(task.owner, task.ledger_shard),
        "UpdateExpression": f"ADD {names.name('submitted')} {one}, {names.name(task.state)} {one}",
        **names.arguments(),
    }


def ledger_move(
    table: str, task_id: str, move: LedgerMove, salvage_until: int | None = None
) -> dict[str, Any]:
    """The books record an end, or take a reopened task back. Only ever inside a transaction.

    `salvage_until` marks that something is kept for their user until then.
    """
    names = Names()
    sign = -1 if move.reopened else 1
    ids = f"{names.name('active')} {names.value({'SS': [task_id]})}"
    counts = [f"{names.name(move.counter)} {names.value(n(sign))}"]
    for attribute, ms in (("wait_ms", move.wait_ms), ("run_ms", move.run_ms)):
        counts.append(f"{names.name(attribute)} {names.value(n(sign * ms))}")
    added = ", ".join([ids, *counts] if move.reopened else counts)
    update = f"ADD {added}" if move.reopened else f"DELETE {ids} ADD {added}"
    if salvage_until is not None:
        update = f"SET {names.name(MARK)} = {names.value(n(salvage_until))} {update}"
    action = {
        "TableName": table,
        "Key": ledger_key(move.owner, move.shard),
        "UpdateExpression": update,
    }
    if move.room is not None:
        action["ConditionExpression"] = _has_room(names, move.room)
    return {**action, **names.arguments()}


def _has_room(names: Names, room: int) -> str:
    active = names.name("active")
    if room < 1:
        return f"attribute_exists({active}) AND size({active}) < {names.value(n(0))}"
    # An emptied set vanishes, so "no set" is an ordinary sight and must come first.
    return f"(attribute_not_exists({active}) OR size({active}) < {names.value(n(room))})"


def idempotency_key(owner: Owner, key: str) -> dict[str, Value]:
    """The key of a user's idempotency key, which may hold any letters and so is hashed."""
    digest = hashlib.sha256(key.encode()).hexdigest()
    return {"pk": s(f"IDEM#{owner}#{digest}"), "sk": s("IDEM")}


def ledger_key(owner: Owner, shard: int) -> Mapping[str, Value]:
    return {"pk": s(f"LEDGER#{owner}"), "sk": s(str(shard))}


def pulse_check(table: str, task_id: str, guard: PulseGuard) -> dict[str, Any]:
    """The holder is silent: it never beat, beat for another attempt, or beat too long ago."""
    names = Names()
    attempt, beat = names.name("attempt"), names.name("beat_at")
    condition = (
        f"attribute_not_exists({names.name('pk')})"
        f" OR attribute_not_exists({beat})"
        f" OR {attempt} <> {names.value(n(guard.attempt))}"
        f" OR {beat} < {names.value(n(guard.before))}"
    )
    return {
        "TableName": table,
        "Key": {"pk": s(f"PULSE#{task_id}")},
        "ConditionExpression": condition,
        **names.arguments(),
    }


def _condition(names: Names, guard: Guard) -> str:
    states = ", ".join(names.value(s(state)) for state in sorted(guard.states))
    parts = [f"{names.name('state')} IN ({states})"]
    if guard.attempt is not None:
        parts.append(f"{names.name('attempt')} = {names.value(n(guard.attempt))}")
    if guard.version is not None:
        parts.append(f"{names.name('version')} = {names.value(n(guard.version))}")
    if guard.lane is not None:
        parts.append(f"{names.name('lane')} = {names.value(s(guard.lane))}")
    if guard.claimable_at is not None:
        now, not_before = names.value(n(guard.claimable_at)), names.name("not_before")
        parts.append(f"(attribute_not_exists({not_before}) OR {not_before} <= {now})")
        parts.append(f"{names.name('deadline_at')} > {now}")
    return " AND ".join(parts)
