"""Where outcomes become changes: upload and write, in a thread, while the next task already runs."""

from __future__ import annotations

import itertools
import logging
import math
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from gpu_worker.gpu_time import account
from gpu_worker.heart import Heart
from gpu_worker.outcome import Broken, Canceled, Done, Interrupted, Lost, Outcome, Snoozed
from taskgate.errors import Refused, Unavailable
from taskgate.events import event, swallowed
from taskgate.gateway.work.worker import SNOOZE, Failure, Held, WorkerGateway
from taskgate.lifecycle.retry import ErrorClass, ErrorCode
from taskgate.lifecycle.states import State
from taskgate.scratch import remove
from taskgate.spans import NOBODY, Spans
from taskgate.task import Task

_LONGEST_WAIT: Final = 5.0
_UNSTORED: Final = Failure(
    ErrorCode.WORKER_CRASHED, "the result could not be stored", ErrorClass.TRANSIENT
)


@dataclass(frozen=True, slots=True)
class Ending:
    """An attempt that is over, with what must be kept until its end is written."""

    held: Held
    outcome: Outcome
    heart: Heart
    folder: Path
    seconds: float


class Finisher:
    """Writes one ending at a time. While it does, the lease of that attempt goes on beating."""

    def __init__(self, gateway: WorkerGateway, spans: Spans = NOBODY) -> None:
        self._gateway, self._spans = gateway, spans
        self._thread: threading.Thread | None = None

    def take(self, ending: Ending) -> None:
        """Returns at once, unless the ending before is still being written."""
        self.wait()
        self._thread = threading.Thread(target=self._finish, args=(ending,), name="finisher")
        self._thread.daemon = True
        self._thread.start()

    def wait(self, seconds: float | None = None) -> bool:
        """Whether nothing is being written any more."""
        if self._thread is not None:
            self._thread.join(seconds)
            return not self._thread.is_alive()
        return True

    def _finish(self, ending: Ending) -> None:
        try:
            self._until_written(ending)
        finally:
            ending.heart.stop()
            remove(ending.folder)

    def _until_written(self, ending: Ending) -> None:
        for wait in _backoff():
            try:
                return self._write(ending)
            except Unavailable as error:
                swallowed("end_delayed", error, task=ending.held.task.id)
            except Exception as error:  # the task must end even when we are wrong
                logging.getLogger("taskgate").exception("end_failed")
                swallowed("end_failed", error, task=ending.held.task.id)
                ending = _unstored(ending)
            if ending.heart.wait_lost(wait):
                break
        return self._tell("result_dropped", ending)

    def _write(self, ending: Ending) -> None:
        try:
            after = self._apply(ending.held, ending.outcome)
        except Refused as refused:
            self._refused(ending, refused.current)
        else:
            self._tell("attempt_ended", ending, after)

    def _apply(self, held: Held, outcome: Outcome) -> Task | None:
        match outcome:
            case Done():
                return self._gateway.succeed(held, outcome.files, outcome.output)
            case Broken():
                return self._gateway.fail(held, outcome.failure, outcome.checkpoint)
            case Canceled():
                return self._gateway.stopped(held)
            case Interrupted():
                return self._gateway.hand_back(held, outcome.checkpoint)
            case Snoozed():
                seconds = math.ceil(min(outcome.seconds, SNOOZE.stop))
                return self._gateway.snooze(held, seconds, outcome.checkpoint)
            case Lost():
                return None

    def _refused(self, ending: Ending, current: Task | None) -> None:
        held = ending.held.task
        ours = current is not None and current.attempt == held.attempt
        if ours and current is not None and current.state is State.CANCELING:
            current = self._stopped(ending.held)
        # An earlier try of ours may have been written although its answer was lost.
        self._tell("attempt_ended" if ours else "result_dropped", ending, current)

    def _tell(self, name: str, ending: Ending, after: Task | None = None) -> None:
        _tell(name, ending, after)
        state = after.state.value if after and name == "attempt_ended" else None
        self._spans.ran(ending.held.task, _word(ending.outcome), state, _error(ending.outcome))

    def _stopped(self, held: Held) -> Task | None:
        try:
            return self._gateway.stopped(held)
        except Refused as refused:
            return refused.current


def _unstored(ending: Ending) -> Ending:
    held, heart = ending.held, ending.heart
    return Ending(held, Broken(_UNSTORED), heart, ending.folder, ending.seconds)


def _backoff() -> Iterator[float]:
    return (min(_LONGEST_WAIT, 0.2 * 2**n) for n in itertools.count())


def _word(outcome: Outcome) -> str:
    return type(outcome).__name__.lower()


def _error(outcome: Outcome) -> str | None:
    return outcome.failure.code.value if isinstance(outcome, Broken) else None


def _tell(name: str, ending: Ending, after: Task | None = None) -> None:
    event(
        name,
        task=ending.held.task.id,
        attempt=ending.held.task.attempt,
        outcome=_word(ending.outcome),
        error=_error(ending.outcome),
        state=after.state if after else None,
        seconds=round(ending.seconds, 3),
    )
    state = after.state if after and name == "attempt_ended" else None
    account(ending.held.task, ending.outcome, state, ending.seconds)
