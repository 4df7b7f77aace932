"""Sends spans to a collector as OTLP over HTTP; the one module that knows OpenTelemetry.

A collector that is down or slow costs a process at most `SECONDS` in every `PAUSE`, and one line.
Headers, such as a collector's token, come from OpenTelemetry's own `OTEL_EXPORTER_OTLP_HEADERS`.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Mapping, Sequence
from typing import Final

from opentelemetry.exporter.otlp.proto.http import Compression
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExporter, SpanExportResult
from opentelemetry.sdk.util.instrumentation import InstrumentationScope
from opentelemetry.trace import SpanContext, SpanKind, Status, StatusCode, TraceFlags, TraceState

from taskgate.events import event
from taskgate.spans import Kind, Span

SECONDS: Final = 1.0
"""One sending takes no longer, and no answer waits longer for it."""
PAUSE: Final = 30.0
"""Seconds that a collector which failed is left alone."""
MOST: Final = 2048
"""Spans that are kept; the oldest go first."""
BATCH: Final = 512
EVERY_MS: Final = 2000
"""A process that is not frozen sends by itself so often."""

_KINDS: Final = {
    Kind.SERVER: SpanKind.SERVER,
    Kind.CONSUMER: SpanKind.CONSUMER,
    Kind.CLIENT: SpanKind.CLIENT,
}
_SCOPE: Final = InstrumentationScope("taskgate")


class Collector:
    """Keeps spans and sends them in batches, from a thread of its own and at every flush."""

    def __init__(
        self,
        endpoint: str,
        service: str,
        deployment: Mapping[str, str],
        seconds: float = SECONDS,
        pause: float = PAUSE,
    ) -> None:
        _quieten()
        self._resource = Resource(
            {
                "service.name": f"taskgate-{service}",
                "deployment.environment.name": deployment["stage"],
                "taskgate.cell": deployment["cell"],
            }
        )
        self._seconds = seconds
        self._exporter = _Patient(f"{endpoint.rstrip('/')}/v1/traces", seconds, pause)
        self._processor = BatchSpanProcessor(
            self._exporter,
            max_queue_size=MOST,
            max_export_batch_size=BATCH,
            schedule_delay_millis=EVERY_MS,
        )
        self._flushing: threading.Thread | None = None

    def put(self, span: Span) -> None:
        """Keep it to be sent."""
        self._processor.on_end(_readable(span, self._resource))

    def flush(self) -> None:
        """Send what is kept, for so many seconds at most; later, while the collector is ill."""
        if self._exporter.pausing or (self._flushing and self._flushing.is_alive()):
            return
        # The library's own bounds leave out the look-up of names and an answer that drips.
        self._flushing = threading.Thread(target=self._processor.force_flush, daemon=True)
        self._flushing.start()
        self._flushing.join(self._seconds)
        if self._flushing.is_alive():
            self._exporter.failed("no whole answer in time")

    def close(self) -> None:
        """Stop the thread."""
        self._processor.shutdown()  # type: ignore[no-untyped-call]


class _Patient(SpanExporter):
    """Leaves a collector alone for a while once it failed, and tells of it once."""

    def __init__(self, url: str, seconds: float, pause: float) -> None:
        self._to = OTLPSpanExporter(url, timeout=seconds, compression=Compression.Gzip)
        self._pause, self._again_at, self._ill = pause, 0.0, False

    @property
    def pausing(self) -> bool:
        return time.monotonic() < self._again_at

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        if self.pausing:
            return SpanExportResult.FAILURE
        result = self._to.export(spans)
        if result is SpanExportResult.SUCCESS:
            self._worked()
        else:
            self.failed("it cannot be reached, or refuses")
        return result

    def failed(self, why: str) -> None:
        self._again_at = time.monotonic() + self._pause
        if not self._ill:
            event("spans_not_sent", logging.WARNING, why=why)
        self._ill = True

    def shutdown(self) -> None:
        self._to.shutdown()  # type: ignore[no-untyped-call]

    def _worked(self) -> None:
        if self._ill:
            event("spans_sent_again")
        self._ill = False


def _quieten() -> None:
    """What the library says of a collector, again and again, is said here, once and by name."""
    library = logging.getLogger("opentelemetry")
    library.propagate = False
    library.addHandler(logging.NullHandler())


def _readable(span: Span, resource: Resource) -> ReadableSpan:
    error = {"error.type": span.error} if span.error else {}
    return ReadableSpan(
        span.name,
        context=_context(span, span.span_id),
        parent=_context(span, span.parent_id) if span.parent_id else None,
        resource=resource,
        attributes={**span.attributes, **error},
        kind=_KINDS[span.kind],
        status=Status(StatusCode.ERROR if span.error else StatusCode.UNSET),
        start_time=span.start,
        end_time=span.end,
        instrumentation_scope=_SCOPE,
    )


def _context(span: Span, span_id: str) -> SpanContext:
    return SpanContext(
        int(span.trace.trace_id, 16),
        int(span_id, 16),
        is_remote=span_id == span.parent_id,
        trace_flags=TraceFlags(span.trace.flags),
        trace_state=TraceState.from_header([span.trace.state]),
    )
