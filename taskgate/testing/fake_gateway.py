"""A gateway on loopback that answers what a test tells it to, over real HTTP.

::

    with FakeGateway() as gateway:
        gateway.answers("GET /v1/stats", Answer(503), Answer(body={"submitted": 1}))
        Taskgate(gateway.url, "key").stats()
"""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, Self
from urllib.parse import parse_qsl, urlsplit


@dataclass(frozen=True, slots=True)
class Answer:
    """One answer; `lost` does the work and then cuts the connection without a word."""

    status: int = 200
    body: Any = field(default_factory=dict)
    """JSON, or bytes as they are."""
    headers: Mapping[str, str] = field(default_factory=dict)
    lost: bool = False

    @property
    def content(self) -> bytes:
        return self.body if isinstance(self.body, bytes) else json.dumps(self.body).encode()


@dataclass(frozen=True, slots=True)
class Seen:
    """A request as it arrived."""

    route: str
    query: Mapping[str, str]
    headers: Mapping[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)


class FakeGateway:
    """Answers each route in the order told; the last answer stays. Unknown routes are 404."""

    def __init__(self) -> None:
        self.seen: list[Seen] = []
        self._answers: dict[str, list[Answer]] = {}
        self._lock = threading.Lock()
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(self))
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,))

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    def answers(self, route: str, *answers: Answer) -> None:
        """Set what ``METHOD /path`` answers from now on."""
        self._answers[route] = list(answers)

    def asked(self, route: str) -> list[Seen]:
        """The requests to a route so far."""
        return [seen for seen in self.seen if seen.route == route]

    def take(self, seen: Seen) -> Answer:
        """Note the request and choose its answer."""
        with self._lock:
            self.seen.append(seen)
            waiting = self._answers.get(seen.route)
            if not waiting:
                return Answer(404, {"code": "task_not_found", "title": "There is no such task."})
            return waiting.pop(0) if len(waiting) > 1 else waiting[0]

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


def _handler(gateway: FakeGateway) -> type[BaseHTTPRequestHandler]:
    return type("Handler", (_Handler,), {"gateway": gateway})


class _Handler(BaseHTTPRequestHandler):
    gateway: FakeGateway

    def do_GET(self) -> None:
        self._serve()

    def do_POST(self) -> None:
        self._serve()

    def _serve(self) -> None:
        answer = self.gateway.take(self._seen())
        if answer.lost:
            self.connection.shutdown(socket.SHUT_RDWR)
            return
        self.send_response(answer.status)
        for name, value in {"Content-Length": len(answer.content), **answer.headers}.items():
            self.send_header(name, str(value))
        self.end_headers()
        self.wfile.write(answer.content)

    def _seen(self) -> Seen:
        address = urlsplit(self.path)
        return Seen(
            f"{self.command} {address.path}",
            dict(parse_qsl(address.query)),
            {name.lower(): value for name, value in self.headers.items()},
            self.rfile.read(int(self.headers.get("content-length", 0))),
        )

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        """Quiet: a test says what it wants to know."""
