"""What was done to a task, as spans for a tracing backend: submit, run, callback, news.

Off unless the environment names a collector; then `taskgate.otlp` sends them, and only then is
OpenTelemetry imported. Ids follow from the task (see `taskgate.tracing`), so every room tells the
same tree without asking another. Nothing that a user wrote is an attribute, and no address.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final, Protocol

from taskgate.errors import BadSetting
from taskgate.events import swallowed
from taskgate.settings import OFF, Environment
from taskgate.task import Task
from taskgate.tracing import Incoming, Trace, span_id

MS: Final = 1_000_000
"""Nanoseconds."""


class Kind(StrEnum):
    """Which side of a call a span is."""

    SERVER = "server"
    CONSUMER = "consumer"
    CLIENT = "client"


@dataclass(frozen=True, slots=True, kw_only=True)
class Span:
    """One that is over. Times are nanoseconds since the epoch."""

    name: str
    kind: Kind
    trace: Trace
    span_id: str
    parent_id: str | None
    start: int
    end: int
    attributes: Mapping[str, str | int | float] = field(default_factory=dict)
    error: str | None = None
    """A word of ours for what went wrong."""


class Sink(Protocol):
    """Takes spans, and sends them."""

    def put(self, span: Span) -> None:
        """Keep it to be sent. Returns at once."""

    def flush(self) -> None:
        """Send what is kept. Returns within a bounded time, whatever the collector does."""


class Spans:
    """What a room tells its spans to. It never raises: a trace is worth no task."""

    def __init__(self, sink: Sink | None = None) -> None:
        self._sink = sink

    @property
    def on(self) -> bool:
        """Whether anybody listens."""
        return self._sink is not None

    def submitted(self, task: Task, caller: Incoming | None, began: int) -> None:
        """A request made this task."""
        parent = caller.span_id if caller else None
        self.tell(_submit(task, parent, began, time.time_ns()))

    def ran(self, task: Task, outcome: str, state: str | None, error: str | None) -> None:
        """An attempt is over: from its claim to its end on record. `state` is the task's after it."""
        if task.parent:
            # No request made it. Whoever tells this again tells the same span.
            at = task.created_at * MS
            self.tell(_submit(task, span_id(task.parent, "submit"), at, at))
        self.tell(_run(task, outcome, state, error))

    def tell(self, span: Span) -> None:
        """A span is over; one of a trace that its caller does not record is left out."""
        if self._sink is None or not span.trace.sampled:
            return
        try:
            self._sink.put(span)
        except Exception as error:  # noqa: BLE001 - whatever it is, the task must not pay
            swallowed("span_not_told", error, span=span.name)

    def flush(self) -> None:
        """Send what was told, before this process may be frozen or ends."""
        if self._sink is None:
            return
        try:
            self._sink.flush()
        except Exception as error:  # noqa: BLE001 - whatever it is, the task must not pay
            swallowed("spans_not_sent", error)


NOBODY: Final = Spans()
"""Tracing is off."""


def open_spans(environment: Environment, service: str) -> Spans:
    """Where this process tells its spans to."""
    if environment.otlp_endpoint == OFF:
        return NOBODY
    try:
        from taskgate.otlp import Collector  # noqa: PLC0415 - paid for by those who want it
    except ImportError:
        problem = "only with the extra taskgate[otlp] installed"
        raise BadSetting("otlp_endpoint", environment.otlp_endpoint, problem) from None
    return Spans(Collector(environment.otlp_endpoint, service, environment.labels))


def before(task_id: str, attempt: int) -> str:
    """The span that a callback follows from: the latest run, else the submit."""
    return span_id(task_id, "run", attempt) if attempt else span_id(task_id, "submit")


def _submit(task: Task, parent: str | None, start: int, end: int) -> Span:
    return Span(
        name="submit",
        kind=Kind.SERVER,
        trace=task.trace,
        span_id=span_id(task.id, "submit"),
        parent_id=parent,
        start=start,
        end=end,
        attributes={"taskgate.task.id": task.id, "taskgate.task.type": task.type},
    )


def _run(task: Task, outcome: str, state: str | None, error: str | None) -> Span:
    start = (task.started_at or task.since) * MS
    attributes: dict[str, str | int | float] = {
        "taskgate.task.id": task.id,
        "taskgate.task.type": task.type,
        "taskgate.task.attempt": task.attempt,
        "taskgate.run.outcome": outcome,
    }
    waited = (task.started_at or task.since) - (task.queued_at or task.created_at)
    attributes["taskgate.task.waited_seconds"] = max(0, waited) / 1000
    return Span(
        name="run",
        kind=Kind.CONSUMER,
        trace=task.trace,
        span_id=span_id(task.id, "run", task.attempt),
        parent_id=span_id(task.id, "submit"),
        start=start,
        end=max(start, time.time_ns()),
        attributes=attributes | ({"taskgate.task.state": state} if state else {}),
        error=error,
    )
