"""ECS must not choose a busy worker when it scales in: its agent is told while a task is held.

Task protection guards against scale-in and deployments, not against Spot or the loss of the host;
what it cannot prevent, the drain and the take-over make good. So a failing agent is only logged.
"""

from __future__ import annotations

import contextlib
import http.client
import json
import threading
import time
from typing import Any, Final
from urllib.parse import urlsplit

from taskgate.events import event, swallowed

MINUTES: Final = 10
"""A protection of a worker that died without a word ends by itself after so long."""
RENEW_AFTER: Final = MINUTES * 60 / 2
RETRY_AFTER: Final = 15.0
_PATH: Final = "/task-protection/v1/state"
_TIMEOUT: Final = 5.0


class Protection:
    """Protected from the first `hold` until `release`; each beat holds again, which renews it.

    All calls to the agent are made by one thread, so that none of them can hold a task up. Without
    an agent (`url` is None) nothing is done.
    """

    def __init__(
        self,
        url: str | None = None,
        *,
        renew_after: float = RENEW_AFTER,
        retry_after: float = RETRY_AFTER,
    ) -> None:
        self._url, self._renew_after, self._retry_after = url, renew_after, retry_after
        self._changed = threading.Condition()
        self._wanted, self._held_at, self._closed = False, 0.0, False
        self._have, self._renew_at, self._retry_at = False, 0.0, 0.0
        self._thread = threading.Thread(target=self._serve, daemon=True, name="protection")

    def start(self) -> None:
        if self._url:
            self._thread.start()

    def hold(self) -> None:
        """A task is held here, and its worker lives."""
        self._want(wanted=True)

    def release(self) -> None:
        """Nothing is held: this worker may be taken."""
        self._want(wanted=False)

    def close(self) -> None:
        """Released, as far as the agent answers in time."""
        self._want(wanted=False)
        with self._changed:
            self._closed = True
            self._changed.notify()
        if self._thread.is_alive():
            self._thread.join(_TIMEOUT / 2)

    def _want(self, *, wanted: bool) -> None:
        with self._changed:
            self._held_at = time.monotonic()
            if wanted != self._wanted or (wanted and self._held_at >= self._renew_at):
                self._wanted = wanted
                self._changed.notify()

    def _serve(self) -> None:
        while (wanted := self._next()) is not None:
            if self._told(wanted):
                self._have, self._retry_at = wanted, 0.0
                self._renew_at = time.monotonic() + self._renew_after
            else:
                self._retry_at = time.monotonic() + self._retry_after

    def _next(self) -> bool | None:
        """Wait for something to tell the agent; None when closed and nothing is left."""
        with self._changed:
            while (rest := self._rest()) > 0:
                if self._closed:
                    return None
                self._changed.wait(min(rest, threading.TIMEOUT_MAX))
            return self._wanted

    def _rest(self) -> float:
        now = time.monotonic()
        if self._wanted != self._have:
            return self._retry_at - now
        # Only a worker that has beaten since is renewed.
        renewable = self._wanted and self._held_at >= self._renew_at
        return max(self._renew_at, self._retry_at) - now if renewable else threading.TIMEOUT_MAX

    def _told(self, wanted: bool) -> bool:  # noqa: FBT001
        body: dict[str, Any] = {"ProtectionEnabled": wanted}
        if wanted:
            body["ExpiresInMinutes"] = MINUTES
        try:
            status, answer = self._put(json.dumps(body))
        except (OSError, http.client.HTTPException) as error:
            swallowed("protection_failed", error)
            return False
        # The agent says 200 and "failure" when the task belongs to no service.
        if good := status == http.HTTPStatus.OK and '"failure"' not in answer:
            event("protected" if wanted else "unprotected")
        else:
            event("protection_failed", status=status, answer=answer[:200])
        return good

    def _put(self, body: str) -> tuple[int, str]:
        address = urlsplit(self._url or "")
        connection = http.client.HTTPConnection(address.netloc, timeout=_TIMEOUT)
        with contextlib.closing(connection):
            headers = {"Content-Type": "application/json"}
            connection.request("PUT", address.path.rstrip("/") + _PATH, body, headers)
            answer = connection.getresponse()
            return answer.status, answer.read(4096).decode("utf-8", "replace")
