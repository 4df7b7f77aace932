"""`taskgate listen`: a receiver on this machine that verifies and prints what is told."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Annotated, Any, Final

import typer

from taskgate.cli.exits import CommandError, Exit
from taskgate.cli.options import AsJson, client_of
from taskgate.cli.printing import aside, plain, print_json, say
from taskgate.webhooks import WebhookError, verify

MOST_BYTES: Final = 1_000_000
"""Of a body that are read: what we send is far below."""


@dataclass(frozen=True, slots=True)
class Heard:
    """A request as it was judged: the event, or why it is not to be believed."""

    at: float
    """Epoch seconds."""
    event: dict[str, Any] | None
    problem: str = ""


def listen(
    context: typer.Context,
    port: Annotated[int, typer.Option(min=0, max=65535, help="0 takes a free one.")] = 9000,
    as_json: AsJson = False,
) -> None:
    """Receive callbacks on this machine, verify and print them; Ctrl-C ends it."""
    secrets = client_of(context).webhook_secrets()
    with receiving(secrets, lambda heard: _print(heard, as_json=as_json), port) as url:
        aside(f"Listening. Submit with: --callback-url {url}")
        while True:
            time.sleep(1)


@contextmanager
def receiving(
    secrets: Sequence[str], tell: Callable[[Heard], None], port: int = 0
) -> Iterator[str]:
    """A receiver on loopback while the block runs; gives its URL. `tell` hears each request."""
    server = _server(port, _handler(secrets, tell))
    thread = Thread(target=server.serve_forever, args=(0.05,), daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def _server(port: int, handler: type[BaseHTTPRequestHandler]) -> ThreadingHTTPServer:
    try:
        return ThreadingHTTPServer(("127.0.0.1", port), handler)
    except OSError as error:
        raise CommandError(
            f"Port {port} of this machine cannot be had: {error.strerror}",
            "Another --port will do.",
            Exit.USAGE,
        ) from error


def _handler(secrets: Sequence[str], tell: Callable[[Heard], None]) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            length = min(int(self.headers.get("content-length") or 0), MOST_BYTES)
            heard = _judged(self.rfile.read(length), dict(self.headers.items()), secrets)
            tell(heard)
            self.send_response(204 if heard.event else 401)
            self.end_headers()

        def log_message(self, *_: Any) -> None:
            """Nothing: `tell` says what there is to say."""

    return Handler


def _judged(body: bytes, headers: dict[str, str], secrets: Sequence[str]) -> Heard:
    try:
        return Heard(time.time(), verify(body, headers, secrets))
    except WebhookError as error:
        return Heard(time.time(), None, str(error))


def told(event: Mapping[str, Any]) -> list[str]:
    """An event in a line: its kind, the task, and how far it is, why it ended badly, or whose result it has."""
    data = event.get("data") or {}
    error, words = data.get("error") or {}, []
    if "progress" in data:
        words = [f"{float(data['progress']):.0%}", str(data.get("stage") or "")]
    if error:
        words = [f"{error.get('code')}: {error.get('message')}"]
    if data.get("reused_from"):
        words = [f"the result of {data['reused_from']}, reused"]
    return [plain(word) for word in (str(event.get("type")), str(data.get("id")), *words) if word]


def _print(heard: Heard, *, as_json: bool) -> None:
    if heard.event is None:
        aside(f"refused: {heard.problem}")
    elif as_json:
        print_json(heard.event)
    else:
        kind, *words = told(heard.event)
        say((kind, "bold"), *(f"  {word}" for word in words))
