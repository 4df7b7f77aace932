"""A task as a DynamoDB item. Compact on purpose: each started KB of an item is paid at each write.

One row a field in `fields.py`. Attributes that only serve an index are derived: `clock_shard` stands
exactly while `due_at` does, `problem_day` exactly while the task is failed or timed out.

Old and new functions live side by side while a deploy goes on: every reader here takes what an
earlier version wrote, and leaves alone what a later one added (`docs/how-to/upgrade-and-roll-back.md`).
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

from taskgate.aws.fields import ABSENT_AT_ZERO, FIELDS
from taskgate.aws.manifests import read_result
from taskgate.aws.values import Item, Value, s
from taskgate.lifecycle.states import State
from taskgate.shards import PROBLEM_SHARDS, shard_of
from taskgate.task import Task
from taskgate.tracing import MET


def task_key(task_id: str) -> dict[str, Value]:
    return {"pk": s(f"TASK#{task_id}"), "sk": s("TASK")}


def input_key(task_id: str) -> dict[str, Value]:
    return {"pk": s(f"TASK#{task_id}"), "sk": s("INPUT")}


def part_key(task_id: str, part: str) -> dict[str, Value]:
    """A further item of a task, by the name of the part."""
    return {"pk": s(f"TASK#{task_id}"), "sk": s(part)}


def id_of(item: Item) -> str:
    return str(item["pk"]["S"]).removeprefix("TASK#")


def encode(task: Task, clock_shards: int) -> dict[str, Value]:
    """The whole item of a new task."""
    values = {name: getattr(task, name) for name in FIELDS}
    sets, _ = encoded(task.id, values, clock_shards)
    return {**task_key(task.id), **sets}


def encoded(
    task_id: str, values: Mapping[str, Any], clock_shards: int
) -> tuple[dict[str, Value], list[str]]:
    """What to set and what to remove for these fields, index attributes included."""
    written = {
        name: None if _absent(name, value) else FIELDS[name].write(value)
        for name, value in values.items()
    } | _derived(task_id, values, clock_shards)
    sets = {name: value for name, value in written.items() if value is not None}
    return sets, [name for name, value in written.items() if value is None]


def decode(item: Item) -> Task:
    """The task of an item."""
    known = {name: f.read(item[name]) for name, f in FIELDS.items() if name in item}
    task_id = id_of(item)
    if "result" in known:
        known["result"] = read_result(item["result"], known["owner"], task_id)
    task = Task(id=task_id, **known)
    MET.note(task_id, task.given_trace)
    return task


def _absent(name: str, value: object) -> bool:
    return value is None or value == () or (name in ABSENT_AT_ZERO and value == 0)


def _derived(task_id: str, values: Mapping[str, Any], clock_shards: int) -> dict[str, Value | None]:
    derived: dict[str, Value | None] = {}
    if "due_at" in values:
        due = values["due_at"] is not None
        kind = "owed" if State(values.get("state", State.CREATED)).ended else "live"
        shard = f"{kind}#{shard_of(task_id, clock_shards):02d}"
        derived["clock_shard"] = s(shard) if due else None
    if "ended_at" in values:
        problem = values.get("state") in (State.FAILED, State.TIMED_OUT)
        derived["problem_day"] = s(_problem_day(task_id, values["ended_at"])) if problem else None
    return derived


def _problem_day(task_id: str, ended_at: int) -> str:
    day = time.strftime("%Y-%m-%d", time.gmtime(ended_at / 1000))
    return f"{day}#{shard_of(task_id, PROBLEM_SHARDS)}"
