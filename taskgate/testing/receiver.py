"""A receiver of callbacks on loopback that does to each request what a test tells it.

::

    with Receiver(says(500), hangs(), redirects("http://10.0.0.1/"), says(204)) as receiver:
        ...  # let callbacks go to receiver.url
        receiver.arrived[0].body

Requests are recorded as they came, byte for byte. The last behaviour stays for all that follow.
"""

from __future__ import annotations

import socket
import socketserver
import ssl
import struct
import threading
import time
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, BinaryIO, Final, Self

from taskgate.webhooks import WebhookError, verify

_RESET: Final = struct.pack("ii", 1, 0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Behaviour:
    """What happens to one request once it is read."""

    answer: bytes = b""
    after: float = 0.0
    """Seconds of silence before the first byte."""
    every: float = 0.0
    """Seconds before each further byte; 0 sends all at once."""
    at_once: int = 0
    """So many bytes come before the drip begins."""
    reset: bool = False
    """End with a TCP reset, not with a close."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Arrived:
    """One request as it came."""

    raw: bytes
    path: str
    headers: Mapping[str, str]
    """Names in lower case."""
    body: bytes
    at: float
    """Epoch seconds."""
    event: dict[str, Any] | None
    """What the body says, if a secret was given and the signature holds."""
    problem: str = ""
    """Why it does not hold."""


def says(status: int, body: bytes = b"", *, after: float = 0.0, **headers: str) -> Behaviour:
    """An answer; `retry_after="5"` becomes the header Retry-After."""
    return Behaviour(answer=_answer(status, body, headers), after=after)


def redirects(to: str, status: int = 302) -> Behaviour:
    return says(status, location=to)


def hangs(seconds: float = 60.0) -> Behaviour:
    """Reads the request and says nothing, until it closes."""
    return Behaviour(after=seconds)


def breaks_off(status: int = 200) -> Behaviour:
    """Closes in the middle of its answer's body."""
    return Behaviour(answer=_answer(status, b"x" * 100, {})[:-50])


def resets() -> Behaviour:
    """A TCP reset instead of an answer."""
    return Behaviour(reset=True)


def floods(size: int, status: int = 200) -> Behaviour:
    """An answer with a huge body."""
    return says(status, b"x" * size)


def drips(status: int = 200, *, every: float = 0.05, size: int = 1000) -> Behaviour:
    """An answer that comes byte by byte, from its first one."""
    return Behaviour(answer=_answer(status, b"x" * size, {}), every=every)


def drips_its_body(status: int = 200, *, every: float = 0.05, size: int = 10_000) -> Behaviour:
    """A whole head at once, then a body that comes byte by byte."""
    answer = _answer(status, b"x" * size, {})
    return Behaviour(answer=answer, every=every, at_once=len(answer) - size)


def raw(answer: bytes) -> Behaviour:
    """These bytes, whatever they are."""
    return Behaviour(answer=answer)


@dataclass
class Receiver:
    """Use it as a context manager. With `secrets` it verifies what comes; with `tls` it is https.

    One that is `down` has its port and refuses all connections until its block begins: no other
    process can be given the port in the meantime.
    """

    script: list[Behaviour]
    secrets: tuple[str, ...] = ()
    tls: ssl.SSLContext | None = None
    arrived: list[Arrived] = field(default_factory=list)
    connections: int = 0
    """Accepted ones, with or without a request."""

    def __init__(
        self,
        *script: Behaviour,
        secrets: Iterable[str] = (),
        tls: ssl.SSLContext | None = None,
        host: str = "127.0.0.1",
        down: bool = False,
    ) -> None:
        self.script = list(script) or [says(204)]
        self.secrets, self.tls = tuple(secrets), tls
        self.arrived, self.connections = [], 0
        self._lock, self._leaving = threading.Lock(), threading.Event()
        self._server = _Server((host, 0), _handler(self), bind_and_activate=False)
        self._server.server_bind()
        if not down:
            self._server.server_activate()
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,))

    @property
    def port(self) -> int:
        return int(self._server.server_address[1])

    @property
    def url(self) -> str:
        return f"{'https' if self.tls else 'http'}://127.0.0.1:{self.port}/hook"

    def wait_for(self, count: int, seconds: float = 10.0) -> list[Arrived]:
        """The first `count` requests, as soon as they have come."""
        until = time.monotonic() + seconds
        while len(self.arrived) < count:
            if time.monotonic() > until:
                raise TimeoutError(f"{len(self.arrived)} of {count} callbacks came in {seconds} s")
            self._leaving.wait(0.01)
        return self.arrived[:count]

    def accept(self, sock: socket.socket) -> socket.socket:
        """Count a connection and put it under TLS if this is https."""
        with self._lock:
            self.connections += 1
        return self.tls.wrap_socket(sock, server_side=True) if self.tls else sock

    def serve(self, sock: socket.socket) -> None:
        """Take one request and treat it as the script says."""
        request = self._read(sock)
        if request is None:
            return
        with self._lock:
            self.arrived.append(request)
            behaviour = self.script.pop(0) if len(self.script) > 1 else self.script[0]
        self._behave(sock, behaviour)

    def __enter__(self) -> Self:
        self._server.server_activate()
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._leaving.set()
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()

    def _read(self, sock: socket.socket) -> Arrived | None:
        sock.settimeout(10)
        with sock.makefile("rb") as stream:
            head = _head(stream)
            if not head:
                return None
            lines = [line.decode("latin-1").rstrip("\r\n").partition(": ") for line in head[1:]]
            headers = {name.lower(): value for name, _, value in lines}
            body = stream.read(int(headers.get("content-length", "0")))
        event, problem = self._verified(body, headers)
        return Arrived(
            raw=b"".join(head) + b"\r\n" + body,
            path=head[0].decode("latin-1").split(" ")[1],
            headers=headers,
            body=body,
            at=time.time(),
            event=event,
            problem=problem,
        )

    def _verified(self, body: bytes, headers: Mapping[str, str]) -> tuple[Any, str]:
        if not self.secrets:
            return None, ""
        try:
            return verify(body, headers, self.secrets), ""
        except WebhookError as problem:
            return None, str(problem)

    def _behave(self, sock: socket.socket, behaviour: Behaviour) -> None:
        self._leaving.wait(behaviour.after)
        if behaviour.reset:
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET)
        elif not behaviour.every:
            sock.sendall(behaviour.answer)
        drip = behaviour.answer if behaviour.every else b""
        sock.sendall(drip[: behaviour.at_once])
        for byte in drip[behaviour.at_once :]:
            if self._leaving.wait(behaviour.every):
                return
            sock.sendall(bytes([byte]))


class _Server(socketserver.ThreadingTCPServer):
    allow_reuse_address = True
    request_queue_size = 128


def _handler(receiver: Receiver) -> type[socketserver.BaseRequestHandler]:
    class Handler(socketserver.BaseRequestHandler):
        def handle(self) -> None:
            # A caller that goes away, or does not like our certificate, is what tests are about.
            with suppress(OSError), receiver.accept(self.request) as sock:
                receiver.serve(sock)

    return Handler


def _head(stream: BinaryIO) -> list[bytes]:
    """The lines before the empty one; none when the caller went away before it."""
    lines = []
    while (line := stream.readline()) not in {b"\r\n", b""}:
        lines.append(line)
    return lines if line else []


def _answer(status: int, body: bytes, headers: Mapping[str, str]) -> bytes:
    lines = [f"HTTP/1.1 {status} As told", f"Content-Length: {len(body)}"]
    lines += [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
    return "\r\n".join([*lines, "", ""]).encode() + body
