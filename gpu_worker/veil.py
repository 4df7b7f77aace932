"""Keeps an attempt's message hidden in its lane, in a thread beside the heart.

Beside it, not in it: a queue service that swallows a call holds it for over a minute, and a heart that
waited for that would let the lease of a healthy run pass. The lease is the authority; a message that
shows up early only means that another worker looks once and leaves it.
"""

from __future__ import annotations

import threading
from typing import Final

from taskgate.errors import TaskgateError
from taskgate.events import swallowed
from taskgate.ports import Delivery, Lanes

_LAST_CALL: Final = 0.5


class Veil:
    """Hides the message for another lease with each beat, from `start` until `lift`."""

    def __init__(self, lanes: Lanes, delivery: Delivery, lease: int, every: float) -> None:
        self._lanes, self._delivery = lanes, delivery
        self._lease, self._every = lease, every
        self._lifted = threading.Event()
        self._thread = threading.Thread(target=self._hide, daemon=True, name="veil")

    def start(self) -> None:
        self._thread.start()

    def lift(self) -> None:
        """No more calls; one that hangs is left to its time-out."""
        self._lifted.set()
        if self._thread.is_alive():
            self._thread.join(_LAST_CALL)

    def _hide(self) -> None:
        while not self._lifted.wait(self._every):
            try:
                self._lanes.hide(self._delivery, self._lease)
            except TaskgateError as error:
                task = self._delivery.message.task_id
                swallowed("visibility_not_extended", error, task=task)
            except Exception as error:  # noqa: BLE001  the run must not be lost to it
                swallowed("veil_torn", error, task=self._delivery.message.task_id)
