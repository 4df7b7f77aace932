"""A span for each letter to a receiver: when it went, and what came of it; never its address."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping

from taskgate.events import swallowed
from taskgate.gateway.outbox.delivering import Attempt, Reason
from taskgate.gateway.outbox.settling import Courier
from taskgate.spans import Kind, Span, Spans, before
from taskgate.tracing import Incoming, incoming


def told(courier: Courier, spans: Spans) -> Courier:
    """The same courier, which tells a span of everything that it sends in a trace."""
    if not spans.on:
        return courier

    def deliver(url: str, headers: Mapping[str, str], body: bytes) -> Attempt:
        began = time.time_ns()
        attempt = courier(url, headers, body)
        _tell(spans, headers, body, attempt, began)
        return attempt

    return deliver


def _tell(
    spans: Spans, headers: Mapping[str, str], body: bytes, attempt: Attempt, began: int
) -> None:
    called = incoming(headers.get("traceparent"), headers.get("tracestate"))
    if called is None:
        return
    try:
        spans.tell(_span(called, json.loads(body)["data"], attempt, began))
    except (KeyError, ValueError) as error:  # the letter has gone, and must go on record
        swallowed("span_not_told", error)


def _span(called: Incoming, task: Mapping[str, str | int], attempt: Attempt, began: int) -> Span:
    attributes = {
        "taskgate.task.id": task["id"],
        "taskgate.task.type": task["type"],
        "taskgate.task.state": task["state"],
        "taskgate.callback.reason": attempt.reason.value,
    }
    if attempt.status is not None:
        attributes["http.response.status_code"] = attempt.status
    return Span(
        name="news" if "progress" in task else "callback",
        kind=Kind.CLIENT,
        trace=called.trace,
        span_id=called.span_id,
        parent_id=before(str(task["id"]), int(task["attempt"])),
        start=began,
        end=time.time_ns(),
        attributes=attributes,
        error=None if attempt.reason is Reason.OK else attempt.reason.value,
    )
