"""Faults on the wire of a boto3 client: calls that fail before or after they took effect.

An emulator never throttles, never loses an answer and never meets a conflict. This does, at the
very call that a test names by its number, so that every call of a flow can be made to fail in turn.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from enum import StrEnum
from io import BytesIO
from typing import Any

from botocore.awsrequest import AWSPreparedRequest, AWSResponse
from botocore.compat import HTTPHeaders
from botocore.exceptions import ConnectionClosedError, ReadTimeoutError

from taskgate.ports import Ports


class Fault(StrEnum):
    """What goes wrong at the chosen call."""

    LOST_BEFORE = "lost_before"
    """The first try never arrives; the SDK tries again."""
    LOST_AFTER = "lost_after"
    """The first try takes effect and its answer is lost; the SDK tries again."""
    DEAD_BEFORE = "dead_before"
    """No try arrives."""
    DEAD_AFTER = "dead_after"
    """Every try takes effect and no answer comes back."""
    THROTTLED = "throttled"
    """Every try is throttled."""
    CONFLICT = "conflict"
    """The first try of a transaction meets another one (other calls are left alone)."""
    CRASH_BEFORE = "crash_before"
    """The process dies before the call arrives."""
    CRASH_AFTER = "crash_after"
    """The process dies after the call took effect."""


class Crash(BaseException):
    """The process is gone: nothing of ours may catch this."""


class _Raw(BytesIO):
    def stream(self, **_: Any) -> Iterable[bytes]:
        yield self.read()


@dataclass
class Wire:
    """Counts the calls of some clients and makes one of them fail."""

    at: int = -1
    """The number of the call that fails, among those that the fault can hit; -1 for none."""
    fault: Fault = Fault.LOST_BEFORE
    calls: list[str] = field(default_factory=list)
    fired: bool = False
    _tries: int = 0

    def arm(self, at: int, fault: Fault) -> None:
        """Count from 0 again; the call of this number fails."""
        self.at, self.fault, self.calls, self.fired = at, fault, [], False

    @property
    def hit(self) -> list[str]:
        """The calls so far that the fault could hit: only a transaction meets others."""
        if self.fault is Fault.CONFLICT:
            return [name for name in self.calls if name == "TransactWriteItems"]
        return self.calls

    def tap(self, ports: Ports) -> None:
        """Sit between the clients of these ports and the network."""
        self.tap_clients(*(port._client for port in _adapters(ports)))  # noqa: SLF001

    def tap_clients(self, *clients: Any) -> None:
        """The same for clients by themselves; one that is named twice is tapped once."""
        for client in {id(client): client for client in clients}.values():
            client.meta.events.register("before-call", self._called)
            session = client._endpoint.http_session  # noqa: SLF001
            session.send = self._wrapped(session.send)

    def _called(self, model: Any, **_: Any) -> None:
        self.calls.append(model.name)
        self._tries = 0

    def _wrapped(
        self, send: Callable[[AWSPreparedRequest], Any]
    ) -> Callable[[AWSPreparedRequest], Any]:
        def sent(request: AWSPreparedRequest) -> Any:
            could = self.fault is not Fault.CONFLICT or self.calls[-1] == "TransactWriteItems"
            if not could or len(self.hit) - 1 != self.at:
                return send(request)
            self._tries += 1
            return self._fail(send, request)

        return sent

    def _fail(self, send: Callable[[AWSPreparedRequest], Any], request: AWSPreparedRequest) -> Any:
        first, self.fired = self._tries == 1, True
        match self.fault:
            case Fault.LOST_BEFORE if first:
                raise ConnectionClosedError(endpoint_url=request.url)
            case Fault.LOST_AFTER if first:
                send(request)
                raise ReadTimeoutError(endpoint_url=request.url)
            case Fault.DEAD_BEFORE:
                raise ConnectionClosedError(endpoint_url=request.url)
            case Fault.DEAD_AFTER:
                send(request)
                raise ReadTimeoutError(endpoint_url=request.url)
            case Fault.THROTTLED:
                return _answer(request, "ThrottlingException", {})
            case Fault.CONFLICT if first:
                reasons = [{"Code": "TransactionConflict"}, {"Code": "None"}]
                return _answer(
                    request, "TransactionCanceledException", {"CancellationReasons": reasons}
                )
            case Fault.CRASH_BEFORE:
                raise Crash
            case Fault.CRASH_AFTER:
                send(request)
                raise Crash
        return send(request)


def _answer(request: AWSPreparedRequest, code: str, extra: dict[str, Any]) -> AWSResponse:
    if "s3" in str(request.headers.get("Authorization", "")):
        body = f"<Error><Code>{code}</Code><Message>injected</Message></Error>".encode()
    else:
        body = json.dumps({"__type": code, "message": "injected", **extra}).encode()
    headers = HTTPHeaders()
    headers["content-type"] = "application/x-amz-json-1.0"
    headers["x-amzn-errortype"] = code
    return AWSResponse(str(request.url), 400, headers, _Raw(body))


def _adapters(ports: Ports) -> tuple[Any, ...]:
    more = (port for port in (ports.bulks, ports.switches) if port is not None)
    return (ports.tasks, ports.pulses, ports.lanes, ports.results, *more)
