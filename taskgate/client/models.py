"""What the gateway answers, as frozen types. A newer gateway may say more: unknown fields are
left out and unknown states kept as they are, so that an old client goes on working.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any, Final

from taskgate.client.errors import TaskCanceled, TaskEnded, TaskFailed, TaskTimedOut

SUCCEEDED: Final = "succeeded"
_BAD_ENDS: Final[Mapping[str, type[TaskEnded]]] = {
    "failed": TaskFailed,
    "timed_out": TaskTimedOut,
    "canceled": TaskCanceled,
}
ENDED: Final = frozenset({SUCCEEDED, *_BAD_ENDS})


@dataclass(frozen=True, slots=True)
class HistoryEntry:
    """One change of a task. Times are aware, UTC."""

    at: datetime | None
    verb: str
    before: str | None
    to: str
    attempt: int
    actor: str
    reason: str
    folded: int
    """Entries before this one that are no longer kept."""


@dataclass(frozen=True, slots=True)
class TaskError:
    """Why a task ended badly, or why its last attempt did."""

    code: str
    message: str
    error_class: str
    retryable: bool


@dataclass(frozen=True, slots=True)
class ResultFile:
    """One file of a result. `url` is signed, and good for minutes only."""

    name: str
    size: int
    sha256: str
    content_type: str
    url: str = ""


@dataclass(frozen=True, slots=True)
class Result:
    """What a task brought: its files, and a small output of its own."""

    files: tuple[ResultFile, ...]
    output: Any = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """A task as its owner sees it."""

    id: str
    type: str = ""
    state: str = ""
    attempt: int = 0
    progress: float = 0.0
    stage: str = ""
    created_at: datetime | None = None
    started_at: datetime | None = None
    ended_at: datetime | None = None
    error: TaskError | None = None
    history: tuple[HistoryEntry, ...] = ()
    result: Result | None = None
    metadata: Mapping[str, str] = field(default_factory=dict)
    raw: Mapping[str, Any] = field(default_factory=dict, repr=False, compare=False)
    """The answer as it came."""

    @property
    def ended(self) -> bool:
        return self.state in ENDED

    @property
    def succeeded(self) -> bool:
        return self.state == SUCCEEDED

    def at(self, look: Task) -> Task:
        """This task with what a later, light look saw of it."""
        return replace(
            self,
            state=look.state,
            attempt=look.attempt,
            progress=look.progress,
            stage=look.stage,
            raw={**self.raw, **look.raw},
        )

    def bad_end(self) -> TaskEnded | None:
        """The exception that a task which ended without a result is; None for any other."""
        kind = _BAD_ENDS.get(self.state)
        return kind(self) if kind else None


@dataclass(frozen=True, slots=True)
class TaskType:
    """A kind of work that the gateway takes; `input_schema` is JSON Schema."""

    name: str
    title: str
    input_schema: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Stats:
    """Your books. At any moment submitted = active + the four ended counts."""

    active: int
    submitted: int
    succeeded: int
    failed: int
    timed_out: int
    canceled: int
    mean_wait_seconds: float | None
    mean_run_seconds: float | None

    @property
    def balanced(self) -> bool:
        ended = self.succeeded + self.failed + self.timed_out + self.canceled
        return self.submitted == self.active + ended


def task_of(body: Mapping[str, Any]) -> Task:
    """A task from the gateway's JSON, whole or light."""
    return Task(
        id=str(body["id"]),
        type=str(body.get("type", "")),
        state=str(body.get("state", "")),
        attempt=int(body.get("attempt") or 0),
        progress=float(body.get("progress") or 0.0),
        stage=str(body.get("stage") or ""),
        created_at=time_of(body.get("created_at")),
        started_at=time_of(body.get("started_at")),
        ended_at=time_of(body.get("ended_at")),
        error=_error_of(body.get("error")),
        history=tuple(_entry_of(e) for e in body.get("history") or ()),
        result=result_of(body["result"]) if body.get("result") else None,
        metadata=dict(body.get("metadata") or {}),
        raw=body,
    )


def result_of(body: Mapping[str, Any]) -> Result:
    """A result from its manifest."""
    return Result(tuple(_file_of(f) for f in body.get("files") or ()), body.get("output"))


def page_of(body: Mapping[str, Any]) -> tuple[tuple[Task, ...], str | None]:
    """The tasks of one page of a list, and the cursor of the next."""
    return tuple(map(task_of, body["tasks"])), body.get("next_cursor")


def task_types_of(body: Mapping[str, Any]) -> tuple[TaskType, ...]:
    return tuple(
        TaskType(str(t["name"]), str(t.get("title", "")), dict(t.get("input_schema") or {}))
        for t in body["task_types"]
    )


def stats_of(body: Mapping[str, Any]) -> Stats:
    def count(name: str) -> int:
        return int(body.get(name) or 0)

    return Stats(
        active=count("active"),
        submitted=count("submitted"),
        succeeded=count("succeeded"),
        failed=count("failed"),
        timed_out=count("timed_out"),
        canceled=count("canceled"),
        mean_wait_seconds=body.get("mean_wait_seconds"),
        mean_run_seconds=body.get("mean_run_seconds"),
    )


def time_of(text: object) -> datetime | None:
    """An RFC 3339 time; None for what is not one, since no display is worth a crash."""
    try:
        return datetime.fromisoformat(text) if isinstance(text, str) else None
    except ValueError:
        return None


def _entry_of(body: Mapping[str, Any]) -> HistoryEntry:
    return HistoryEntry(
        at=time_of(body.get("at")),
        verb=str(body.get("verb", "")),
        before=body.get("from"),
        to=str(body.get("to", "")),
        attempt=int(body.get("attempt") or 0),
        actor=str(body.get("actor", "")),
        reason=str(body.get("reason") or ""),
        folded=int(body.get("folded") or 0),
    )


def _error_of(body: Mapping[str, Any] | None) -> TaskError | None:
    if not body:
        return None
    return TaskError(
        code=str(body.get("code", "")),
        message=str(body.get("message", "")),
        error_class=str(body.get("class", "")),
        retryable=bool(body.get("retryable")),
    )


def _file_of(body: Mapping[str, Any]) -> ResultFile:
    return ResultFile(
        name=str(body["name"]),
        size=int(body.get("size") or 0),
        sha256=str(body.get("sha256", "")),
        content_type=str(body.get("content_type", "")),
        url=str(body.get("url", "")),
    )
