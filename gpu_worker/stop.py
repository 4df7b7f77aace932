"""Leaving: asked by a signal, bounded by a time, and certain."""

from __future__ import annotations

import os
import signal
import socket
import threading
import time
from types import FrameType
from typing import Final

from taskgate.events import event

EXIT_STUCK: Final = 4
LEAVE: Final = 8.0
"""Seconds after the drain for the kill, the hand-back and the way out. Then the process ends."""
_SIGNALS: Final = (signal.SIGTERM, signal.SIGINT)


class Stop:
    """Whether this worker should leave, and whether the present run may still go on."""

    def __init__(self, drain: float) -> None:
        self._drain = drain
        self._asked = threading.Event()
        self._reasons: set[str] = set()
        self._over_at = float("inf")

    @property
    def asked(self) -> bool:
        """Claim nothing more."""
        return self._asked.is_set()

    @property
    def over(self) -> bool:
        """The run has had its time: hand it back."""
        return time.monotonic() >= self._over_at

    @property
    def time_left(self) -> float:
        """Seconds until this process must be gone; the whole drain when nobody asked."""
        until_over = self._over_at - time.monotonic()
        return max(0.0, min(until_over, self._drain)) + LEAVE

    def ask(self, why: str) -> None:
        """Leave. Asked a second time for the same reason, do not even wait for the run.

        Another reason changes nothing: a Spot notice is followed by a SIGTERM as a matter of course.
        """
        wait = 0.0 if why in self._reasons else self._drain
        self._reasons.add(why)
        self._over_at = min(self._over_at, time.monotonic() + wait)
        self._asked.set()
        event("draining", why=why, seconds=wait)

    def leave(self, why: str) -> None:
        """Ask, and end this process by force should it not be gone in time."""
        if not self.asked:
            self._end_surely()
        self.ask(why)

    def wait(self, seconds: float) -> bool:
        """Sleep, unless asked to leave meanwhile."""
        return self._asked.wait(seconds)

    def listen(self) -> None:
        """Take SIGTERM and SIGINT in a thread of their own. Call it in the main thread.

        A Python handler runs in the middle of whatever the main thread does, with its locks held, so
        ours do nothing; Python's C handler wakes the listener, whichever thread the signal hit.
        """
        listener, self._bell = socket.socketpair()
        self._bell.setblocking(False)
        signal.set_wakeup_fd(self._bell.fileno(), warn_on_full_buffer=False)
        for number in _SIGNALS:
            signal.signal(number, _left_to_the_listener)
        threading.Thread(
            target=self._take_signals, args=(listener,), daemon=True, name="signals"
        ).start()

    def _take_signals(self, listener: socket.socket) -> None:
        while True:
            number = listener.recv(1)[0]
            if number in _SIGNALS:
                self.leave(signal.Signals(number).name)

    def _end_surely(self) -> None:
        timer = threading.Timer(self._drain + LEAVE, _end)
        timer.daemon = True
        timer.start()


def _left_to_the_listener(_number: int, _frame: FrameType | None) -> None:
    """Nothing: that there is a handler of Python's makes C write to the bell."""


def _end() -> None:
    event("left_by_force", why="the drain did not end in time")
    os._exit(EXIT_STUCK)
