"""A bulk act: one verb for many tasks, planned, confirmed, and done in small batches."""

from __future__ import annotations

import hashlib
import hmac
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from typing import Final, Protocol

from taskgate.lifecycle.retry import ErrorCode
from taskgate.lifecycle.states import ENDED, LIVE, State
from taskgate.pages import Page
from taskgate.task import CallbackState, Owner, Task

BULK_ID: Final = re.compile(r"bulk_[0-9A-HJKMNP-TV-Z]{26}")
KEPT_SECONDS: Final = 90 * 86_400
CONFIRM_MS: Final = 600_000
"""A dry run is old after this: the tasks are no longer those that were shown."""


class BulkAct(StrEnum):
    """What is done to each task."""

    CANCEL = "cancel"
    REOPEN = "reopen"
    REDELIVER = "redeliver"


FITTING: Final[Mapping[BulkAct, frozenset[State]]] = {
    BulkAct.CANCEL: LIVE - {State.CANCELING},
    BulkAct.REOPEN: frozenset({State.FAILED, State.TIMED_OUT}),
    BulkAct.REDELIVER: ENDED,
}
"""States that know the act."""
ACTS: Final[Mapping[str, BulkAct]] = {
    **{act.value: act for act in BulkAct},
    "redrive": BulkAct.REOPEN,
}
"""By the words that people have for them: to redrive is to reopen what ended badly."""


class BulkState(StrEnum):
    """How far it is."""

    PLANNED = "planned"
    RUNNING = "running"
    DONE = "done"
    STOPPED = "stopped"


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """Which tasks. What is not given does not count. Times are epoch ms."""

    tenant: str | None = None
    user: str | None = None
    type: str | None = None
    states: frozenset[State] = frozenset()
    since: int | None = None
    """Created at or after this."""
    until: int | None = None
    """Created before this."""
    code: ErrorCode | None = None
    day: str | None = None
    """Ended on this UTC day, ``YYYY-MM-DD``: failed and timed out only."""
    callback: CallbackState | None = None

    def fits(self, task: Task) -> bool:
        """Whether the task is one of those; the day is the index's to tell."""
        return (
            self.tenant in (None, task.owner.tenant)
            and self.user in (None, task.owner.user)
            and self.type in (None, task.type)
            and task.state in self.states
            and (self.since is None or task.created_at >= self.since)
            and (self.until is None or task.created_at < self.until)
            and (self.code is None or (task.error is not None and task.error.code is self.code))
            and (self.callback is None or _callback(task) is self.callback)
        )

    @property
    def owner(self) -> Owner | None:
        return Owner(self.tenant, self.user) if self.tenant and self.user else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Bulk:
    """One bulk act as it is kept. Times are epoch ms."""

    id: str
    act: BulkAct
    wanted: Wanted
    operator: Owner
    key_id: str
    """Of the operator's API key, for the histories."""
    reason: str
    secret: str
    """What the confirm token is made with; random, and good for this plan alone."""
    planned_at: int
    bounded_to: str | None = None
    """The tenant that whoever planned it looks after; None for an operator's."""
    state: BulkState = BulkState.PLANNED
    count: int = 0
    """Tasks that fitted at the dry run."""
    counted_all: bool = True
    started_at: int | None = None
    ended_at: int | None = None
    due_at: int | None = None
    """When it is worked on next; None when there is nothing to do."""
    position: tuple[int, str | None] = (0, None)
    """Which part of the index comes next, and where in it."""
    rounds: int = 0
    done: int = 0
    found_done: int = 0
    """Met again, or done by a run that died before it was written down."""
    failed: Mapping[str, int] = field(default_factory=dict)
    """How many were left as they were, by the reason."""
    refused: Mapping[str, Sequence[str]] = field(default_factory=dict)
    """Which those are, so that one that is met again is counted once: their ids by the reason."""
    version: int = 0

    @property
    def left(self) -> int:
        """About how many are still to come."""
        seen = self.done + self.found_done + sum(self.failed.values())
        return max(0, self.count - seen) if self.state is BulkState.RUNNING else 0

    @property
    def expires_at(self) -> int:
        return self.planned_at + CONFIRM_MS

    def token(self) -> str:
        """What confirms it: bound to the act, the filter, the operator and the time."""
        told = [self.id, self.act, _plain(self.wanted), str(self.operator), self.key_id]
        text = json.dumps([*told, self.reason, self.expires_at], sort_keys=True)
        return hmac.new(self.secret.encode(), text.encode(), hashlib.sha256).hexdigest()[:40]


class BulkStore(Protocol):
    """Where they are kept. Every method may raise `Unavailable`."""

    def get_bulk(self, bulk_id: str) -> Bulk | None:
        """The bulk act, read consistently."""

    def write_bulk(self, bulk: Bulk) -> bool:
        """Write over the one of `bulk.version`, 0 being none; False when it is not there."""

    def list_bulks(self, start: str | None = None) -> Page[Bulk]:
        """All that are kept, the latest first; one that was just planned may be missing for a moment."""

    def due_bulks(self, until: int) -> Sequence[str]:
        """Ids of those that are to be worked on, the oldest first: a hint, like any index."""


def to_text(bulk: Bulk) -> str:
    """All but the version, as JSON."""
    fields = {**asdict(bulk), "wanted": _plain(bulk.wanted)}
    # An earlier version, which runs beside us while a deploy goes on, knows no `refused`.
    unsaid = {"version"} if bulk.refused else {"version", "refused"}
    return json.dumps({name: value for name, value in fields.items() if name not in unsaid})


def from_text(text: str, version: int) -> Bulk:
    """What `to_text` wrote."""
    fields = json.loads(text)
    # A later version, which runs beside us while a deploy goes on, may have added to it.
    known = {name: value for name, value in fields.items() if name in Bulk.__dataclass_fields__}
    return Bulk(
        **{
            **known,
            "act": BulkAct(fields["act"]),
            "state": BulkState(fields["state"]),
            "operator": Owner(**fields["operator"]),
            "position": tuple(fields["position"]),
            "wanted": _wanted(fields["wanted"]),
        },
        version=version,
    )


def _plain(wanted: Wanted) -> dict[str, object]:
    return {**asdict(wanted), "states": sorted(wanted.states)}


def _wanted(fields: dict[str, object]) -> Wanted:
    code, callback = fields["code"], fields["callback"]
    typed = {
        "states": frozenset(map(State, fields["states"])),  # type: ignore[call-overload]
        "code": ErrorCode(str(code)) if code else None,
        "callback": CallbackState(str(callback)) if callback else None,
    }
    return Wanted(**{**fields, **typed})  # type: ignore[arg-type]


def _callback(task: Task) -> CallbackState | None:
    return task.callback.state if task.callback else None
