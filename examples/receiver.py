"""Receives callbacks: ``TASKGATE_WEBHOOK_SECRET=whsec_… python receiver.py 9000``.

Three things that every receiver should do, and no framework is needed for:
verify the raw bytes, do each event once, and let no older event overwrite a newer one.
"""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from taskgate.webhooks import ID, WebhookError, verify

MOST_BYTES = 1_000_000
FIRST = (0, False, "")


def order(event: dict[str, Any]) -> tuple[int, bool, str]:
    """Of two events of a task the greater is the newer; in which order they arrive is not promised.

    A task that was reopened ends again, with a higher generation. Within one, its end comes after
    whatever was told of the run: of that, what was told later.
    """
    news = event["type"] in {"task.progress", "task.stalled"}
    return event["data"]["generation"], not news, event["timestamp"]


@dataclass
class Inbox:
    """What has been heard of each task. Yours is a table; these two are its guards."""

    secrets: tuple[str, ...]
    tasks: dict[str, dict[str, Any]] = field(default_factory=dict)
    _order: dict[str, tuple[int, bool, str]] = field(default_factory=dict)
    _seen: set[str] = field(default_factory=set)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def take(self, body: bytes, headers: Mapping[str, str]) -> int:
        """Take one callback and return the status to answer with."""
        try:
            event = verify(body, headers, self.secrets)
        except WebhookError as error:
            print("refused:", error, flush=True)
            return 401
        with self._lock:
            if headers[ID] not in self._seen:
                self._keep(event)
                # Only now: had keeping failed, the next attempt would have to do it.
                self._seen.add(headers[ID])
        return 204

    def _keep(self, event: dict[str, Any]) -> None:
        task = event["data"]
        if self._order.get(task["id"], FIRST) <= order(event):
            self._order[task["id"]] = order(event)
            self.tasks[task["id"]] = task
            print(event["type"], task["id"], flush=True)


def serve(inbox: Inbox, port: int) -> ThreadingHTTPServer:
    """A server on loopback; put it behind your https."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            size = int(self.headers.get("content-length", 0))
            # The raw bytes. Parsed and written again, the same JSON is other bytes.
            body = self.rfile.read(size) if size <= MOST_BYTES else b""
            self.send_response(inbox.take(body, {k.lower(): v for k, v in self.headers.items()}))
            self.end_headers()

    return ThreadingHTTPServer(("127.0.0.1", port), Handler)


if __name__ == "__main__":
    serve(Inbox((os.environ["TASKGATE_WEBHOOK_SECRET"],)), int(sys.argv[1])).serve_forever()
