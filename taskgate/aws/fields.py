"""How each field of a task is written into its item, and read from it: one row a field in `FIELDS`."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import astuple, fields
from typing import Any, Final, NamedTuple

from taskgate.aws.manifests import read_files, write_result
from taskgate.aws.traces import read_trace, write_trace
from taskgate.aws.values import Value, ints_of, listed, n, numbers, s, text, whole
from taskgate.lifecycle.history import Entry
from taskgate.lifecycle.retry import Budget, Budgets, ErrorClass, ErrorCode
from taskgate.lifecycle.states import State, Verb
from taskgate.task import (
    Callback,
    CallbackState,
    CancelMode,
    CancelRequest,
    Duty,
    Limits,
    Owner,
    TaskError,
    Tried,
)


class Field(NamedTuple):
    write: Callable[[Any], Value]
    read: Callable[[Value], Any]


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
    mode, code, at, *more = text(value).split("|", 6)
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


def entry_value(entry: Entry) -> Value:
    """`at|verb|to|attempt|folded|actor|reason`; only the last may hold a bar."""
    parts = (entry.at, entry.verb, entry.to, entry.attempt, entry.folded or "")
    return s("|".join(map(str, (*parts, entry.actor.replace("|", "/"), entry.reason))))


def _read_entry(value: Value) -> Entry:
    at, verb, to, attempt, folded, actor, reason = text(value).split("|", 6)
    return Entry(
        at=int(at),
        verb=Verb(verb),
        to=State(to),
        attempt=int(attempt),
        folded=int(folded or 0),
        actor=actor,
        reason=reason,
    )


ABSENT_AT_ZERO: Final = frozenset({"generation", "sends", "follow_ups", "ledger_shard"})
"""Mostly zero, and absent then: an item is paid by its size."""

_TEXT: Final = Field(s, text)
_NUMBER: Final = Field(n, whole)

FIELDS: Final[Mapping[str, Field]] = {
    "owner": Field(lambda owner: s(str(owner)), lambda value: Owner.parse(text(value))),
    "type": _TEXT,
    "lane": _TEXT,
    "state": Field(s, lambda value: State(text(value))),
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
    "limits": Field(_write_limits, _read_limits),
    "budgets": Field(_write_budgets, _read_budgets),
    "worker": _TEXT,
    "error": Field(_write_error, _read_error),
    "cancel": Field(_write_cancel, _read_cancel),
    "result": Field(write_result, read_files),
    "output": _TEXT,
    "checkpoint": _TEXT,
    "metadata": _TEXT,
    "callback": Field(_write_callback, _read_callback),
    "follow_ups": _NUMBER,
    "max_processing": _NUMBER,
    "ledger_shard": _NUMBER,
    "uploads_until": _NUMBER,
    "parent": _TEXT,
    "kept_until": _NUMBER,
    "given_to": _TEXT,
    "reused_from": _TEXT,
    "given_trace": Field(write_trace, read_trace),
    "owes": Field(
        lambda duties: s(",".join(duties)),
        lambda value: tuple(map(Duty, text(value).split(","))),
    ),
    "owed_at": _NUMBER,
    "history": Field(
        lambda entries: listed(map(entry_value, entries)),
        lambda value: tuple(_read_entry(v) for v in value["L"]),
    ),
}
