"""The states of a task, and which verb leads from where to where (DESIGN section 2)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Final


class State(StrEnum):
    """Where a task is in its life."""

    SCHEDULED = "scheduled"
    CREATED = "created"
    QUEUED = "queued"
    PROCESSING = "processing"
    STALLED = "stalled"
    PAUSED = "paused"
    RETRYING = "retrying"
    CANCELING = "canceling"
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    TIMED_OUT = "timed_out"
    CANCELED = "canceled"

    @property
    def ended(self) -> bool:
        return self in ENDED


ENDED: Final = frozenset({State.SUCCEEDED, State.FAILED, State.TIMED_OUT, State.CANCELED})
LIVE: Final = frozenset(State) - ENDED
HELD: Final = frozenset({State.PROCESSING, State.STALLED, State.CANCELING})
"""A worker may be computing the task."""


class Verb(StrEnum):
    """What may be done to a task. Each has one constructor in `transitions`."""

    SUBMIT = "submit"
    ENQUEUE = "enqueue"
    REUSE = "reuse"
    RESCHEDULE = "reschedule"
    PRIORITIZE = "prioritize"
    CLAIM = "claim"
    TAKE_OVER = "take_over"
    EXTEND = "extend"
    SUCCEED = "succeed"
    FAIL = "fail"
    STALL = "stall"
    REVIVE = "revive"
    RESCUE = "rescue"
    EXPIRE = "expire"
    BURY = "bury"
    PAUSE = "pause"
    RESUME = "resume"
    CANCEL = "cancel"
    STOPPED = "stopped"
    REOPEN = "reopen"
    REDELIVER = "redeliver"


@dataclass(frozen=True, slots=True)
class Rule:
    """One row of the verb table: from where, to where, by whom, and what the write demands."""

    sources: frozenset[State]
    targets: frozenset[State]
    who: str
    demands: str


def _rule(sources: set[State], targets: set[State], who: str, demands: str) -> Rule:
    return Rule(frozenset(sources), frozenset(targets), who, demands)


_S = State
RULES: Final[Mapping[Verb, Rule]] = {
    Verb.SUBMIT: _rule(
        set(),
        {_S.CREATED, _S.SCHEDULED},
        "API",
        "id unused; idempotency key unused; ledger below its limit",
    ),
    Verb.ENQUEUE: _rule({_S.CREATED, _S.SCHEDULED}, {_S.QUEUED}, "API, sweep", "still that state"),
    Verb.REUSE: _rule(
        {_S.CREATED}, {_S.SUCCEEDED}, "API", "in the submit's own write: the kept result is there"
    ),
    Verb.RESCHEDULE: _rule(
        {_S.SCHEDULED}, {_S.SCHEDULED, _S.QUEUED}, "owner, operator", "the version it read"
    ),
    Verb.PRIORITIZE: _rule(
        {_S.SCHEDULED, _S.CREATED, _S.QUEUED, _S.RETRYING, _S.PAUSED},
        {_S.SCHEDULED, _S.QUEUED, _S.RETRYING, _S.PAUSED},
        "owner within the plan, operator",
        "the version it read",
    ),
    Verb.CLAIM: _rule(
        {_S.CREATED, _S.QUEUED, _S.RETRYING},
        {_S.PROCESSING},
        "worker",
        "not before `not_before`; the lane that the message came from; attempt + 1",
    ),
    Verb.TAKE_OVER: _rule(
        {_S.PROCESSING, _S.STALLED},
        {_S.PROCESSING},
        "another worker, whose message was redelivered",
        "this attempt is not ours, its pulse is older than the lease, crash budget left;"
        " attempt + 1",
    ),
    Verb.EXTEND: _rule(
        {_S.PROCESSING, _S.STALLED},
        {_S.PROCESSING},
        "owner, worker, operator",
        "this attempt; at most the type's `max_run`",
    ),
    Verb.SUCCEED: _rule({_S.PROCESSING, _S.STALLED}, {_S.SUCCEEDED}, "worker", "this attempt"),
    Verb.FAIL: _rule(
        {_S.PROCESSING, _S.STALLED},
        {_S.FAILED, _S.TIMED_OUT, _S.RETRYING},
        "worker; for stalled also owner, operator",
        "this attempt",
    ),
    Verb.STALL: _rule(
        {_S.PROCESSING}, {_S.STALLED}, "sweep", "this attempt; beat or deadline really past"
    ),
    Verb.REVIVE: _rule({_S.STALLED}, {_S.PROCESSING}, "sweep", "this attempt; the beat is back"),
    Verb.RESCUE: _rule(
        {_S.STALLED},
        {_S.QUEUED, _S.TIMED_OUT, _S.FAILED},
        "sweep when the grace is over; owner, operator at once",
        "this attempt",
    ),
    Verb.EXPIRE: _rule(
        {_S.CREATED, _S.QUEUED, _S.SCHEDULED, _S.PAUSED, _S.RETRYING},
        {_S.TIMED_OUT},
        "sweep",
        "its own limit really past",
    ),
    Verb.BURY: _rule(
        {_S.CREATED, _S.QUEUED, _S.RETRYING},
        {_S.FAILED},
        "dead-letter function",
        "the state and version it read",
    ),
    Verb.PAUSE: _rule(
        {_S.CREATED, _S.QUEUED, _S.PROCESSING, _S.STALLED},
        {_S.PAUSED},
        "operator; for processing and stalled the draining worker, with checkpoint",
        "for a worker: this attempt",
    ),
    Verb.RESUME: _rule({_S.PAUSED}, {_S.QUEUED}, "worker, sweep, operator", "still paused"),
    Verb.CANCEL: _rule(
        {
            _S.SCHEDULED,
            _S.CREATED,
            _S.QUEUED,
            _S.RETRYING,
            _S.PAUSED,
            _S.PROCESSING,
            _S.STALLED,
            _S.CANCELING,
        },
        {_S.CANCELED, _S.CANCELING},
        "owner, operator",
        "the state it read; bounded re-read; while canceling only from soft to hard",
    ),
    Verb.STOPPED: _rule(
        {_S.CANCELING},
        {_S.CANCELED},
        "worker, or sweep when the grace is over (attempt + 1)",
        "this attempt",
    ),
    Verb.REOPEN: _rule({_S.FAILED, _S.TIMED_OUT}, {_S.QUEUED}, "owner, operator", "generation + 1"),
    Verb.REDELIVER: _rule(
        set(ENDED),
        set(ENDED),
        "owner, operator",
        "a callback; the state stays, and is told of anew",
    ),
}
STAYING: Final = frozenset({Verb.REDELIVER})
"""Verbs that the history tells of and that leave the state as it is."""
