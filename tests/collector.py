"""What a collector on loopback was sent, read in the protocol's own form (OTLP over HTTP, protobuf)."""

from __future__ import annotations

import gzip
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.common.v1.common_pb2 import KeyValue
from opentelemetry.proto.trace.v1.trace_pb2 import Span as Sent

from tests.unit.gpu_worker.loopback import Asked, Loopback, served


@dataclass(frozen=True)
class Told:
    """One span, and what the process that told it says of itself."""

    span: Sent
    resource: dict[str, str]

    @property
    def attributes(self) -> dict[str, str | int]:
        """What it says of the task."""
        return attributes_of(self.span.attributes)


@contextmanager
def collecting() -> Iterator[Loopback]:
    """A collector for the block that takes whatever it is sent."""
    with served(lambda asked: (200, b"")) as at:
        yield at


def told(at: Loopback) -> list[Told]:
    """Every span that has arrived, in that order."""
    return [
        Told(span, {k: str(v) for k, v in attributes_of(group.resource.attributes).items()})
        for asked in at.asked
        for group in decoded(asked).resource_spans
        for scope in group.scope_spans
        for span in scope.spans
    ]


def decoded(asked: Asked) -> ExportTraceServiceRequest:
    """A request as the standard has it, or the test fails here."""
    assert (asked.method, asked.path) == ("POST", "/v1/traces")
    assert asked.headers["content-type"] == "application/x-protobuf"
    return ExportTraceServiceRequest.FromString(gzip.decompress(asked.body))


def attributes_of(pairs: object) -> dict[str, str | int]:
    """Words and numbers by their name."""
    named: list[KeyValue] = list(pairs)  # type: ignore[call-overload]
    return {a.key: a.value.string_value or a.value.int_value for a in named}
