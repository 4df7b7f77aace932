"""Looking at a task until it ends, never faster than the gateway asks.

Each look asks the gateway to hold its answer back until there is news, so that most looks bring some.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from http import HTTPStatus
from typing import Final

import httpx

from taskgate.client.answers import task_of
from taskgate.client.backoff import retry_after_of
from taskgate.client.errors import (
    ClientError,
    Refused,
    ServerError,
    Unreachable,
    WaitTimeout,
)
from taskgate.client.models import Task
from taskgate.client.transport import Transport, task_path, understood

PACE: Final = 2.0
"""Seconds between two looks when the gateway names none."""
FASTEST: Final = 0.1
"""A gateway that asks for 0 s must not get a storm."""
LONGEST_HOLD: Final = 20
"""Seconds that the gateway holds an answer back at most."""
PATIENCE: Final = 60.0
"""A wait outlives a gateway that is out of reach for so long."""


@dataclass(frozen=True, slots=True)
class Clock:
    """Time as the waiting sees it; a test brings its own."""

    now: Callable[[], float] = time.monotonic
    sleep: Callable[[float], None] = time.sleep


class Watch:
    """One wait for one task. What it saw last is in `task`."""

    def __init__(
        self,
        transport: Transport,
        task_id: str,
        *,
        timeout: float | None,
        clock: Clock,
        until_ended: bool = False,
    ) -> None:
        self._transport, self._id, self._timeout, self._clock = transport, task_id, timeout, clock
        self._started = self._asked = self._answered = clock.now()
        self._until_ended, self._holds = until_ended, True
        self._etag, self._pace = "", PACE
        self._failed: ClientError | None = None
        """Why the last look brought nothing."""
        self.task: Task | None = None

    def updates(self) -> Iterator[Task]:
        """The task at each look, the last time when it has ended.

        Raises `WaitTimeout` as soon as no further look fits into the timeout.
        """
        while True:
            task = self._look()
            if task:
                yield task
            if task and task.ended:
                return
            self._rest()

    def _look(self) -> Task | None:
        """The task; None when the gateway is out of reach, for as long as patience lasts."""
        try:
            self.task = self._ask()
        except ClientError as error:
            if not _passing(error) or self._clock.now() - self._answered >= PATIENCE:
                raise self._named(error) from error.__cause__
            self._pace = max(PACE, getattr(error, "retry_after", None) or 0.0)
            self._failed = error
            return None
        self._answered, self._failed = self._clock.now(), None
        return self.task

    def _ask(self) -> Task:
        self._asked = self._clock.now()
        response = self._held_back()
        asked = retry_after_of(response)
        self._pace = PACE if asked is None else max(asked, FASTEST)
        if response.status_code == HTTPStatus.NOT_MODIFIED and self.task:
            return self.task
        self._etag = response.headers.get("etag", "")
        return understood(response, task_of)

    def _held_back(self) -> httpx.Response:
        """The answer as soon as there is news; at once from a gateway that holds none back.

        One try: a look that fails is followed by the next, by the time that the caller has.
        """
        headers = {"If-None-Match": self._etag} if self._etag and not self._until_ended else {}
        hold = self._hold()
        params = {"wait": hold} if hold else None
        path = task_path(self._id, "/status")
        try:
            return self._transport.send("GET", path, params=params, headers=headers, once=True)
        except Refused as refused:
            if not hold or "wait" not in {f.field for f in refused.fields}:
                raise
            self._holds = False
            return self._transport.send("GET", path, headers=headers, once=True)

    def _hold(self) -> int:
        """Whole seconds to hold the answer back; none on a first look that is to be shown."""
        if not self._holds or not (self._until_ended or self.task):
            return 0
        if self._timeout is None:
            return LONGEST_HOLD
        left = self._timeout - (self._clock.now() - self._started)
        return max(0, min(LONGEST_HOLD, int(left)))

    def _rest(self) -> None:
        """Sleep what the answer's holding back has left of the pace."""
        now = self._clock.now()
        rest = max(0.0, self._pace - (now - self._asked))
        spent = now - self._started
        if self._timeout is not None and spent + max(rest, FASTEST) > self._timeout:
            raise WaitTimeout(self._id, self._timeout, self.task, self._failed) from self._failed
        if rest:
            self._clock.sleep(rest)

    def _named(self, error: ClientError) -> ClientError:
        """The error with the task's id on it: whoever loses the connection must not lose the id."""
        error.task_id = self._id
        error.add_note(f"The task is on record as {self._id}.")
        return error


def _passing(error: ClientError) -> bool:
    """Whether it may be over in a moment: nobody answered, or somebody is too busy to."""
    busy = isinstance(error, Refused) and error.status == HTTPStatus.TOO_MANY_REQUESTS
    return busy or isinstance(error, Unreachable | ServerError)
