"""How long the files of an input are waited for: as long as the attempt may go on at all."""

from __future__ import annotations

from gpu_worker.heart import Heart
from gpu_worker.limits import RunTime
from gpu_worker.outcome import Broken, Canceled, Interrupted, Lost, Outcome
from gpu_worker.stop import Stop


class NotFetched(Exception):
    """The attempt ended while a file was on its way."""

    def __init__(self, outcome: Outcome) -> None:
        super().__init__(type(outcome).__name__)
        self.outcome = outcome


class Patience:
    """Asked between the parts of a download: raises `NotFetched` once the attempt must not go on."""

    def __init__(self, heart: Heart, time: RunTime, stop: Stop) -> None:
        self._heart, self._time, self._stop = heart, time, stop

    def __call__(self) -> None:
        if outcome := self._ended():
            raise NotFetched(outcome)

    def _ended(self) -> Outcome | None:
        if self._heart.lost:
            return Lost()
        if self._heart.signal == "cancel_hard":
            return Canceled()
        if failure := self._time.over():
            return Broken(failure)
        if self._stop.over:
            return Interrupted(self._heart.held.task.checkpoint)
        return None
