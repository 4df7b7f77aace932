"""The beats of one attempt, from a thread that no model can hold up."""

from __future__ import annotations

import threading
import time
from typing import Final

from taskgate.errors import LeaseLost
from taskgate.events import event, swallowed
from taskgate.gateway.worker import Held, WorkerGateway
from taskgate.ports import Signal

REPORT_EVERY: Final = 1.0
"""Seconds between two reports of progress; a beat is a report too."""


class Heart:
    """Beats from `start` until `stop`: also while the result is uploaded and written.

    It lives in the supervisor, where the model's GIL and its CUDA calls cannot starve it.
    """

    def __init__(self, gateway: WorkerGateway, held: Held, every: float) -> None:
        self._gateway, self._held, self._every = gateway, held, every
        self._changed, self._stopped = threading.Condition(), False
        self._now: tuple[float, str] = (0.0, "")
        self._said: tuple[float, str] = (0.0, "")
        self._said_at = self._beat_at = time.monotonic()
        self._lost = threading.Event()
        self._signal: str | None = None
        self._thread = threading.Thread(target=self._live, daemon=True, name="heart")

    @property
    def lost(self) -> bool:
        """The task is somebody else's now: stop, and write nothing."""
        return self._lost.is_set()

    @property
    def signal(self) -> str | None:
        """The last word of the gateway to this attempt."""
        return self._signal

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        """The last beat is over when this returns."""
        with self._changed:
            self._stopped = True
            self._changed.notify()
        self._thread.join()

    def note(self, fraction: float, stage: str) -> None:
        """The run got on; it is reported within a second or with the next beat."""
        with self._changed:
            self._now = (fraction, stage)
            self._changed.notify()

    def wait_lost(self, seconds: float) -> bool:
        """Sleep, unless the lease is lost meanwhile."""
        return self._lost.wait(seconds)

    def _live(self) -> None:
        while self._wait():
            try:
                self._speak()
            except LeaseLost:
                event("lease_lost", task=self._held.task.id, attempt=self._held.task.attempt)
                self._lost.set()
                return
            except Exception as error:  # noqa: BLE001  a heart that dies of an error kills the task
                swallowed("beat_failed", error, task=self._held.task.id)
                self._beat_at = time.monotonic() - self._every + min(1.0, self._every / 3)

    def _wait(self) -> bool:
        """Sleep until something is due; False when stopped."""
        with self._changed:
            while not self._stopped and (rest := self._due() - time.monotonic()) > 0:
                self._changed.wait(rest)
            return not self._stopped

    def _due(self) -> float:
        beat = self._beat_at + self._every
        return beat if self._now == self._said else min(beat, self._said_at + REPORT_EVERY)

    def _speak(self) -> None:
        (fraction, stage), started = self._now, time.monotonic()
        beating = started >= self._beat_at + self._every
        verb = self._gateway.beat if beating else self._gateway.report
        # Also when it fails: the next report waits its second, so that an outage is not hammered.
        self._said_at = started
        self._heed(verb(self._held, fraction, stage))
        self._said = (fraction, stage)
        if beating:
            self._beat_at = started

    def _heed(self, signal: Signal | None) -> None:
        if signal is None or signal.kind == self._signal:
            return
        event("signaled", task=self._held.task.id, kind=signal.kind)
        self._signal = signal.kind
        if signal.kind == "lost":
            self._lost.set()
