"""The HTTP API in small, on loopback: requests become the events that AWS makes of them (payload 2.0).

Behind it are the real authorizer and the real API. HTTP API serves no path and no method but the
routes; here the API is asked for those, too, and must say itself what is wrong with them.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Final
from urllib.parse import parse_qsl, unquote, urlsplit

from taskgate.routes import ROUTES, Route
from tests.unit.functions.api_world import route_of
from tests.unit.functions.http_events import http_event

Event = dict[str, Any]
METHODS: Final = ("GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS", "TRACE", "QUERY")
PUBLIC: Final = frozenset(route.path for route in ROUTES if route.public)
NO_KEY: Final[Event] = {
    "statusCode": 401,
    "headers": {"Content-Type": "application/json"},
    "body": '{"message":"Unauthorized"}',
}
"""What AWS itself answers when the header that names the caller is missing."""


class Gateway:
    """Authorizes each request as HTTP API does, and has the API answer it."""

    def __init__(self, authorize: Callable[[Event], Event], answer: Callable[[Event], Event]):
        self._authorize, self._answer = authorize, answer
        self.answered: set[tuple[Route, int]] = set()
        """Which routes have answered with which status."""

    def __call__(self, method: str, target: str, headers: Mapping[str, str], body: bytes) -> Event:
        parts = urlsplit(target)
        path = unquote(parts.path)
        event = http_event(
            method, path, body=_text(body), query=_query(parts.query), headers=dict(headers)
        )
        event["rawQueryString"] = parts.query
        if path not in PUBLIC:
            if "authorization" not in event["headers"]:
                return NO_KEY
            context = self._authorize(event)["context"]
            event["requestContext"]["authorizer"] = {"lambda": context}
        answer = self._answer(json.loads(json.dumps(event)))
        if route := route_of(method, path):
            self.answered.add((route, answer["statusCode"]))
        return answer


@contextmanager
def served(gateway: Gateway) -> Iterator[str]:
    """The gateway on a port of its own for the block; its address."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        wbufsize = -1  # an answer goes out as one packet: two would meet a delayed acknowledgement
        disable_nagle_algorithm = True

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002
            """Quiet."""

    def serve(self: Handler) -> None:
        body = self.rfile.read(int(self.headers.get("content-length") or 0))
        headers: dict[str, str] = {}
        for name, value in self.headers.items():
            known = headers.get(name.lower())
            headers[name.lower()] = value if known is None else f"{known},{value}"
        answer = gateway(self.command, self.path, headers, body)
        content = str(answer.get("body") or "").encode()
        self.send_response(answer["statusCode"])
        for name, value in answer["headers"].items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(content)

    for method in METHODS:
        setattr(Handler, f"do_{method}", serve)
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def _query(text: str) -> dict[str, str]:
    """One value a name: HTTP API joins several with commas."""
    found: dict[str, str] = {}
    for name, value in parse_qsl(text, keep_blank_values=True):
        found[name] = f"{found[name]},{value}" if name in found else value
    return found


def _text(body: bytes) -> str | bytes | None:
    """A text as it is; anything else in base64."""
    try:
        return body.decode() or None
    except UnicodeDecodeError:
        return body
