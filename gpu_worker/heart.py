"""The beats of one attempt, from a thread that no model can hold up."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable
from typing import Final

from gpu_worker.veil import Veil
from taskgate.errors import LeaseLost, Refused
from taskgate.events import event, swallowed
from taskgate.gateway.work.worker import Held, WorkerGateway
from taskgate.ports import Signal

REPORT_EVERY: Final = 1.0
"""Seconds between two reports of progress; a beat is a report too."""


class Heart:
    """Beats from `start` until `stop`: also while the result is uploaded and written.

    It lives in the supervisor, where the model's GIL and its CUDA calls cannot starve it. It also
    keeps `held`, our newest copy of the task: its limits may move while the run goes on.
    """

    def __init__(
        self,
        gateway: WorkerGateway,
        held: Held,
        every: float,
        veil: Veil,
        beaten: Callable[[], None] = lambda: None,
    ) -> None:
        self._gateway, self._held, self._every = gateway, held, every
        self._veil, self._beaten = veil, beaten
        self._wanted = 0.0
        self._extending = False
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

    @property
    def held(self) -> Held:
        """The hold on the task, as we know it now."""
        return self._held

    @property
    def extending(self) -> bool:
        """Whether an extension was asked for and is not decided yet."""
        return self._extending

    def extend(self, seconds: float) -> None:
        """Ask the gateway for so much more time; `held` has it when `extending` is over."""
        with self._changed:
            self._wanted, self._extending = seconds, True
            self._changed.notify()

    def refresh(self) -> None:
        """Read the task again: its limits may have been moved, or it is ours no more."""
        try:
            self._keep(self._gateway.refresh(self._held))
        except Refused:
            self._lose()
        except Exception as error:  # noqa: BLE001  we go by what we know; the run is not to blame
            swallowed("refresh_failed", error, task=self._held.task.id)

    def start(self) -> None:
        self._thread.start()
        self._veil.start()

    def stop(self) -> None:
        """The last beat is over when this returns."""
        with self._changed:
            self._stopped = True
            self._changed.notify()
        self._thread.join()
        self._veil.lift()

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
            if self._wanted:
                self._extend()
                continue
            try:
                self._speak()
            except LeaseLost:
                self._lose()
                return
            except Exception as error:  # noqa: BLE001  a heart that dies of an error kills the task
                swallowed("beat_failed", error, task=self._held.task.id)
                self._beat_at = time.monotonic() - self._every + min(1.0, self._every / 3)

    def _wait(self) -> bool:
        """Sleep until something is due; False when stopped, or when there is nothing to beat for."""
        with self._changed:
            while not self._stopped and (rest := self._due() - time.monotonic()) > 0:
                self._changed.wait(rest)
            return not (self._stopped or self.lost)

    def _due(self) -> float:
        if self._wanted:
            return 0.0
        beat = self._beat_at + self._every
        return beat if self._now == self._said else min(beat, self._said_at + REPORT_EVERY)

    def _speak(self) -> None:
        (fraction, stage), started = self._now, time.monotonic()
        beating = started >= self._beat_at + self._every
        # Also when it fails: the next report waits its second, so that an outage is not hammered.
        self._said_at = started
        self._heed(self._gateway.report(self._held, fraction, stage), beating=beating)
        self._said = (fraction, stage)
        if beating:
            self._beat_at = started
            self._beaten()

    def _heed(self, signal: Signal | None, *, beating: bool) -> None:
        if signal is None:
            return
        told, self._signal = self._signal, signal.kind
        if signal.kind != told:
            event("signaled", task=self._held.task.id, kind=signal.kind)
        if signal.kind == "lost":
            self._lose()
        # The word stays where it was left, and a second extension looks like the first.
        if signal.kind == "deadline" and (beating or signal.kind != told):
            self.refresh()

    def _extend(self) -> None:
        seconds, self._wanted = math.ceil(self._wanted), 0.0
        try:
            self._keep(self._extended(seconds))
        except Exception as error:  # noqa: BLE001  a heart that dies of an error kills the task
            # The run goes on with the time that it has; the beats tell if it is lost.
            swallowed("not_extended", error, task=self._held.task.id)
        self._extending = False

    def _extended(self, seconds: int) -> Held:
        try:
            return self._gateway.extend(self._held, seconds)
        except Refused:
            # Suspected meanwhile, perhaps; a new copy knows, and a suspect may be extended too.
            self._keep(self._gateway.refresh(self._held))
            return self._gateway.extend(self._held, seconds)

    def _keep(self, held: Held) -> None:
        if held.task.attempt != self._held.task.attempt:
            self._lose()
            return
        with self._changed:
            if held.task.version >= self._held.task.version:
                self._held = held

    def _lose(self) -> None:
        event("lease_lost", task=self._held.task.id, attempt=self._held.task.attempt)
        self._lost.set()
        self._veil.lift()
