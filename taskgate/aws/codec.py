"""A task as a DynamoDB item. Compact on purpose: each started KB of an item is paid at each write.

One row a field in `_FIELDS`. Attributes that only serve an index are derived: `clock_shard` stands
exactly while `due_at` does, `problem_day` exactly while the task is failed or timed out.

Old and new functions live side by side while a deploy goes on: every reader here takes what an
earlier version wrote, and leaves alone what a later one added (`docs/how-to/upgrade-and-roll-back.md`).
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import astuple, fields
from typing import Any, Final, NamedTuple

from taskgate.aws.traces import read_trace, write_trace
from taskgate.aws.values import Item, Value, b, bytes_of, ints_of, listed, n, numbers, s
from taskgate.lifecycle.history import Entry
from taskgate.lifecycle.retry import Budget, Budgets, ErrorClass, ErrorCode
from taskgate.lifecycle.states import State, Verb
from taskgate.shards import PROBLEM_SHARDS, shard_of
from taskgate.task import (
    Callback,
    CallbackState,
    CancelMode,
    CancelRequest,
    Duty,
    Limits,
    Owner,
    ResultFile,
    Task,
    TaskError,
    Tried,
)
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
    values = {name: getattr(task, name) for name in _FIELDS}
    sets, _ = encoded(task.id, values, clock_shards)
    return {**task_key(task.id), **sets}


def encoded(
    task_id: str, values: Mapping[str, Any], clock_shards: int
) -> tuple[dict[str, Value], list[str]]:
    """What to set and what to remove for these fields, index attributes included."""
    sets: dict[str, Value] = {}
    removes: list[str] = []
    for name, value in values.items():
        if value is None or value == () or (name in _ABSENT_AT_ZERO and value == 0):
            removes.append(name)
        else:
            sets[name] = _FIELDS[name].write(value)
    for name, derived in _derived(task_id, values, clock_shards).items():
        if derived is None:
            removes.append(name)
        else:
            sets[name] = derived
    return sets, removes


def decode(item: Item) -> Task:
    """The task of an item."""
    known = {name: f.read(item[name]) for name, f in _FIELDS.items() if name in item}
    task_id = id_of(item)
    if "result" in known:
        known["result"] = read_result(item["result"], known["owner"], task_id)
    task = Task(id=task_id, **known)
    MET.note(task_id, task.given_trace)
    return task


def entry_value(entry: Entry) -> Value:
    """`at|verb|to|attempt|folded|actor|reason`; only the last may hold a bar."""
    parts = (entry.at, entry.verb, entry.to, entry.attempt, entry.folded or "")
    return s("|".join(map(str, (*parts, entry.actor.replace("|", "/"), entry.reason))))


def _entry(value: Value) -> Entry:
    at, verb, to, attempt, folded, actor, reason = str(value["S"]).split("|", 6)
    return Entry(
        at=int(at),
        verb=Verb(verb),
        to=State(to),
        attempt=int(attempt),
        folded=int(folded or 0),
        actor=actor,
        reason=reason,
    )


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


class _Field(NamedTuple):
    write: Callable[[Any], Value]
    read: Callable[[Value], Any]


def _int(value: Value) -> int:
    return int(value["N"])


def _str(value: Value) -> str:
    return str(value["S"])


def _write_limits(limits: Limits) -> Value:
    return numbers(astuple(limits))


def _read_limits(value: Value) -> Limits:
    names = [f.name for f in fields(Limits)]
    # Shorter ones are of before a limit that has a default, longer ones of a later version.
    return Limits(**dict(zip(names, ints_of(value), strict=False)))


def _write_budgets(budgets: Budgets) -> Value:
    pairs = (budgets.retries, budgets.crashes, budgets.interruptions)
    return numbers(part for budget in pairs for part in (budget.limit, budget.spent))


def _read_budgets(value: Value) -> Budgets:
    it = iter(ints_of(value)[:6])
    return Budgets(*(Budget(limit, next(it)) for limit in it))


def _write_error(error: TaskError) -> Value:
    parts = [error.code, error.error_class, error.message, error.details]
    return s(json.dumps(parts, ensure_ascii=False))


def _read_error(value: Value) -> TaskError:
    code, error_class, message, details, *_ = json.loads(value["S"])
    return TaskError(ErrorCode(code), message, ErrorClass(error_class), details)


def _write_cancel(cancel: CancelRequest) -> Value:
    times = (cancel.seen_at or "", cancel.stopped_at or "", "1" if cancel.enforced else "")
    parts = (cancel.mode, cancel.code, cancel.at, *times, cancel.by)
    return s("|".join(map(str, parts)))


def _read_cancel(value: Value) -> CancelRequest:
    """Those of before the handshake have three parts."""
    mode, code, at, *more = str(value["S"]).split("|", 6)
    seen, stopped, enforced, by = more or ("", "", "", "")
    return CancelRequest(
        CancelMode(mode),
        ErrorCode(code),
        int(at),
        by,
        int(seen) if seen else None,
        int(stopped) if stopped else None,
        bool(enforced),
    )


def _write_callback(callback: Callback) -> Value:
    latest = [
        [t.at, t.status, t.ms, t.reason, *([t.detail] if t.detail else [])] for t in callback.latest
    ]
    parts = [callback.url, callback.events, callback.state, callback.tries, callback.schedule]
    return s(json.dumps([*parts, latest], separators=(",", ":")))


def _read_callback(value: Value) -> Callback:
    url, events, state, tries, schedule, latest, *_ = json.loads(value["S"])
    return Callback(
        url,
        tuple(events),
        CallbackState(state),
        tries,
        schedule,
        tuple(Tried(*row[:5]) for row in latest),
    )


BESIDE: Final = "beside"
"""Other bytes lay where the file would have been: see `taskgate.gateway.work.storing`."""


def write_result(files: tuple[ResultFile, ...]) -> Value:
    return listed(listed(_file(f)) for f in files)


def _file(file: ResultFile) -> Iterator[Value]:
    """The key is spelled by owner, id and attempt: only the attempt is kept, and a sixth part when
    the file lies below its digest.
    """
    attempt, rest = file.key.split("/", 4)[3:]
    yield from (s(file.name), n(file.size), b(file.sha256), s(file.content_type), n(int(attempt)))
    if rest != file.name:
        yield s(BESIDE)


def read_result(value: Value, owner: Owner, task_id: str) -> tuple[ResultFile, ...]:
    """The files of that task's result, with their keys."""
    return tuple(_with_key(file, owner, task_id) for file in _read_result(value))


def _read_result(value: Value) -> tuple[ResultFile, ...]:
    return tuple(_read_file(row["L"]) for row in value["L"])


def _read_file(row: list[Value]) -> ResultFile:
    name, size, digest, kind, attempt, *more = row
    beside = [_str(part) for part in more[:1]] == [BESIDE]
    folder = f"{_int(attempt)}/{bytes_of(digest).hex()}" if beside else str(_int(attempt))
    key = f"{folder}/{_str(name)}"
    return ResultFile(_str(name), key, _int(size), bytes_of(digest), _str(kind))


def _with_key(file: ResultFile, owner: Owner, task_id: str) -> ResultFile:
    key = f"r/{owner.tenant}/{task_id}/{file.key}"
    return ResultFile(file.name, key, file.size, file.sha256, file.content_type)


_ABSENT_AT_ZERO: Final = frozenset({"generation", "sends", "follow_ups"})
"""Mostly zero, and absent then: an item is paid by its size."""

_TEXT: Final = _Field(s, _str)
_NUMBER: Final = _Field(n, _int)

_FIELDS: Final[Mapping[str, _Field]] = {
    "owner": _Field(lambda owner: s(str(owner)), lambda value: Owner.parse(_str(value))),
    "type": _TEXT,
    "lane": _TEXT,
    "state": _Field(s, lambda value: State(_str(value))),
    "version": _NUMBER,
    "op_id": _TEXT,
    "attempt": _NUMBER,
    "generation": _NUMBER,
    "created_at": _NUMBER,
    "since": _NUMBER,
    "deadline_at": _NUMBER,
    "due_at": _NUMBER,
    "queued_at": _NUMBER,
    "sent_at": _NUMBER,
    "sends": _NUMBER,
    "resent_in": _NUMBER,
    "resent_for": _TEXT,
    "started_at": _NUMBER,
    "ended_at": _NUMBER,
    "run_at": _NUMBER,
    "not_before": _NUMBER,
    "resume_at": _NUMBER,
    "limits": _Field(_write_limits, _read_limits),
    "budgets": _Field(_write_budgets, _read_budgets),
    "worker": _TEXT,
    "error": _Field(_write_error, _read_error),
    "cancel": _Field(_write_cancel, _read_cancel),
    "result": _Field(write_result, _read_result),
    "output": _TEXT,
    "checkpoint": _TEXT,
    "metadata": _TEXT,
    "callback": _Field(_write_callback, _read_callback),
    "follow_ups": _NUMBER,
    "max_processing": _NUMBER,
    "uploads_until": _NUMBER,
    "parent": _TEXT,
    "kept_until": _NUMBER,
    "reused_from": _TEXT,
    "given_trace": _Field(write_trace, read_trace),
    "owes": _Field(
        lambda duties: s(",".join(duties)),
        lambda value: tuple(map(Duty, _str(value).split(","))),
    ),
    "owed_at": _NUMBER,
    "history": _Field(
        lambda entries: listed(map(entry_value, entries)),
        lambda value: tuple(_entry(v) for v in value["L"]),
    ),
}
