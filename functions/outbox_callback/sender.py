"""One attempt: judge the URL, connect to what was judged, post the bytes, read the status.

Redirects are answers, not invitations. Of the receiver's answer the status and `Retry-After` are
kept and nothing else: what it says is for nobody's eyes, and a tenant cannot read through us.
"""

from __future__ import annotations

import socket
import ssl
import time
from collections.abc import Mapping
from contextlib import closing, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from http import HTTPStatus
from http.client import HTTPException, HTTPResponse, IncompleteRead
from typing import Final, cast

from functions import VERSION
from functions.outbox_callback.resolving import within
from functions.outbox_callback.wire import Clock, TooMuch, Wire
from taskgate.gateway.outbox.delivering import Attempt, Reason, answered
from taskgate.outgoing.guard import Form, Resolve, Target, checked
from taskgate.outgoing.unsafe import UnsafeUrl

CONNECT_SECONDS: Final = 3.0
TOTAL_SECONDS: Final = 10.0
MOST_DETAIL: Final = 120


def trusted() -> ssl.SSLContext:
    """The system's authorities, names checked; made once, since it reads a large file."""
    context = ssl.create_default_context()
    context.set_alpn_protocols(["http/1.1"])
    return context


@dataclass(frozen=True, slots=True, kw_only=True)
class Sender:
    """Lives as long as the process; threads may share it."""

    allow_local: bool = False
    """Local stages only: plain http, any port, this machine and its networks."""
    tls: ssl.SSLContext = field(default_factory=trusted)
    resolve: Resolve = field(default_factory=within)
    connect_seconds: float = CONNECT_SECONDS
    total_seconds: float = TOTAL_SECONDS

    def send(self, url: str, body: bytes, headers: Mapping[str, str]) -> Attempt:
        """Post `body` as it is. Never raises for what a receiver or a network does."""
        started = time.monotonic()
        status, reason, retry_after, detail = self._outcome(url, body, headers)
        ms = round((time.monotonic() - started) * 1000)
        return Attempt(status, reason, ms, retry_after, detail[:MOST_DETAIL])

    def _outcome(self, url: str, body: bytes, headers: Mapping[str, str]) -> _Outcome:
        clock = Clock(self.total_seconds)
        try:
            target = checked(url, allow_local=self.allow_local, resolve=self.resolve)
        except UnsafeUrl as unsafe:
            return None, Reason.UNSAFE, None, unsafe.reason
        except OSError:
            return None, Reason.DNS, None, "the name could not be looked up"
        try:
            return self._posted(target, _request(target.form, body, headers), clock)
        except _Failed as failed:
            return None, failed.reason, None, failed.detail

    def _posted(self, target: Target, request: bytes, clock: Clock) -> _Outcome:
        with closing(self._connected(target, clock)) as wire:
            self._secured(wire, target.form)
            response = _answer(wire, request)
        retry_after = retry_after_of(response.getheader("retry-after"))
        return response.status, answered(response.status), retry_after, ""

    def _connected(self, target: Target, clock: Clock) -> Wire:
        try:
            return Wire.open(target.addresses, target.form.port, self.connect_seconds, clock)
        except TimeoutError:
            raise _Failed(Reason.TIMEOUT, "no connection in time") from None
        except OSError:
            raise _Failed(Reason.CONNECT, "no connection") from None

    def _secured(self, wire: Wire, form: Form) -> None:
        if not form.tls:
            return
        try:
            wire.secure(self.tls, form.host)
        except TimeoutError:
            raise _Failed(Reason.TIMEOUT, "no TLS handshake in time") from None
        except ssl.SSLCertVerificationError as error:
            raise _Failed(Reason.TLS, error.verify_message) from None
        except OSError:
            raise _Failed(Reason.TLS, "the TLS handshake failed") from None


_Outcome = tuple[int | None, Reason, float | None, str]


class _Failed(Exception):
    """The attempt has no whole answer."""

    def __init__(self, reason: Reason, detail: str) -> None:
        super().__init__(detail)
        self.reason, self.detail = reason, detail


class _FinalAnswer(HTTPResponse):
    """The answer itself. What announces it (102, 103) is skipped, as http.client skips 100 alone."""

    def _read_status(self) -> tuple[str, int, str]:
        version, status, reason = super()._read_status()  # type: ignore[misc]
        announces = 100 <= status < 200 and status != HTTPStatus.SWITCHING_PROTOCOLS
        return version, HTTPStatus.CONTINUE if announces else status, reason


def retry_after_of(header: str | None, now: datetime | None = None) -> float | None:
    """Seconds from now, given as a number or as a date; None when it says nothing."""
    if header is None:
        return None
    if header.isascii() and header.isdigit():
        # A number of any length: what is over a day is cut anyway.
        return float(header[:12])
    try:
        date = parsedate_to_datetime(header)
    except (ValueError, OverflowError):
        return None
    date = date if date.tzinfo else date.replace(tzinfo=UTC)
    return max(0.0, (date - (now or datetime.now(UTC))).total_seconds())


def _request(form: Form, body: bytes, headers: Mapping[str, str]) -> bytes:
    lines = [
        f"POST {form.path} HTTP/1.1",
        f"host: {form.authority}",
        f"user-agent: Taskgate/{VERSION}",
        "content-type: application/json",
        *(f"{name}: {value}" for name, value in headers.items()),
        f"content-length: {len(body)}",
        "connection: close",
    ]
    if not all(line.isascii() and line.isprintable() for line in lines):
        raise ValueError("a header is not printable ASCII")
    return "\r\n".join([*lines, "", ""]).encode() + body


def _answer(wire: Wire, request: bytes) -> HTTPResponse:
    try:
        # A receiver may answer and close before it has read all: its answer still counts.
        with suppress(BrokenPipeError, ConnectionResetError):
            wire.send(request)
        return _read(wire)
    except TimeoutError:
        raise _Failed(Reason.TIMEOUT, "no whole answer in time") from None
    except TooMuch:
        raise _Failed(Reason.MALFORMED, "the answer's headers are too long") from None
    except (OSError, IncompleteRead):
        # RemoteDisconnected is a ConnectionResetError, and TLS cut short an SSLError: both OSError.
        raise _Failed(Reason.RESET, "the connection was closed before the answer's end") from None
    except (HTTPException, ValueError):
        raise _Failed(Reason.MALFORMED, "the answer is not HTTP") from None


def _read(wire: Wire) -> HTTPResponse:
    """The head of the answer; the rest is read to its end, or to our bound, and thrown away."""
    response = _FinalAnswer(cast("socket.socket", wire), method="POST")
    with closing(response):
        response.begin()
        if wire.ended:
            # http.client takes the end of the stream for the end of the headers.
            raise IncompleteRead(b"")
        with suppress(TooMuch):
            while response.read(8192):
                pass
            if response.length:
                raise IncompleteRead(b"", response.length)
    return response
