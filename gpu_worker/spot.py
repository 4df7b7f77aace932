"""The Spot notice: two minutes before AWS takes an instance back, its metadata says so.

Polled over IMDSv2, only with ``TASKGATE_SPOT=1``. Where ECS drains Spot instances itself (its agent's
``ECS_ENABLE_SPOT_INSTANCE_DRAINING``, or Fargate Spot) the SIGTERM that follows is enough.
"""

from __future__ import annotations

import contextlib
import http.client
import json
import threading
from collections.abc import Callable
from typing import Final
from urllib.parse import urlsplit

from taskgate.events import swallowed

METADATA: Final = "http://169.254.169.254"
EVERY: Final = 5.0
"""Seconds between two looks, as AWS advises."""
_TIMEOUT: Final = 2.0
_SIX_HOURS: Final = "21600"
_SESSION: Final = "/latest/api/token"
_ACTION: Final = "/latest/meta-data/spot/instance-action"


class SpotWatch:
    """Calls `leave` once with the notice, and looks no more."""

    def __init__(
        self, leave: Callable[[str], None], url: str = METADATA, every: float = EVERY
    ) -> None:
        self._leave, self._every = leave, every
        self._host = urlsplit(url).netloc
        self._token = ""
        self._closed = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True, name="spot")

    def start(self) -> None:
        self._thread.start()

    def close(self) -> None:
        """No look is under way when this returns."""
        self._closed.set()
        self._thread.join()

    def _watch(self) -> None:
        while not self._closed.is_set():
            if notice := self._notice():
                self._leave(f"spot {notice}")
                return
            self._closed.wait(self._every)

    def _notice(self) -> str | None:
        """What AWS is about to do: ``terminate``, ``stop`` or ``hibernate``."""
        try:
            return self._asked() or None
        except (OSError, http.client.HTTPException, ValueError) as error:
            # No metadata here, or not just now; the SIGTERM comes all the same.
            swallowed("spot_unknown", error)
            return None

    def _asked(self) -> str:
        self._token = self._token or self._call("PUT", _SESSION, "ttl-seconds", _SIX_HOURS)[1]
        status, body = self._call("GET", _ACTION, "", self._token)
        if status == http.HTTPStatus.UNAUTHORIZED:
            self._token = ""
        return str(json.loads(body)["action"]) if status == http.HTTPStatus.OK else ""

    def _call(self, method: str, path: str, header: str, value: str) -> tuple[int, str]:
        name = "-".join(filter(None, ("X-aws-ec2-metadata-token", header)))
        # Never through a proxy: link-local addresses mean this machine.
        connection = http.client.HTTPConnection(self._host, timeout=_TIMEOUT)
        with contextlib.closing(connection):
            connection.request(method, path, headers={name: value})
            answer = connection.getresponse()
            return answer.status, answer.read(4096).decode("utf-8", "replace")
