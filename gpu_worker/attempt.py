"""One attempt: give the task to the child, watch child, lease, limits and stop, return an outcome."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Final

from gpu_worker.child_process import Child, Death
from gpu_worker.heart import Heart
from gpu_worker.limits import Limits, RunTime, startup_timeout
from gpu_worker.outcome import Broken, Canceled, Done, Interrupted, Lost, Outcome, Snoozed
from gpu_worker.produced import produced
from gpu_worker.protocol import (
    Cancel,
    Drain,
    Extend,
    Failed,
    Finished,
    Load,
    Loaded,
    Progressed,
    Run,
    Saved,
    Stopped,
    Word,
)
from gpu_worker.protocol import Snoozed as SnoozeAsked
from gpu_worker.stop import Stop
from taskgate.events import event
from taskgate.gateway.work.worker import Failure
from taskgate.lifecycle.retry import ErrorClass, ErrorCode
from taskgate.ports import Now

TICK: Final = 0.1
"""Seconds between two looks at the limits while the child is silent."""
SIGNALS_SPREAD: Final = 0.5
"""Seconds between the first and the last process that a signal to all of them reaches."""


class Attempt:
    """Runs once. The child may be dead afterwards: see `Child.alive`."""

    def __init__(
        self,
        order: Run,
        child: Child,
        heart: Heart,
        limits: Limits,
        stop: Stop,
        now: Now,
        moves: Callable[[], None] = lambda: None,
    ) -> None:
        self._order, self._child, self._heart = order, child, heart
        self._limits, self._stop, self._moves = limits, stop, moves
        self._time = RunTime(order.number, heart, now)
        self._checkpoint = order.checkpoint
        self._load_until: float | None = None
        self._verdict: Outcome | None = None
        self._kill_at = float("inf")
        self._drain_told = False

    def run(self) -> Outcome:
        """Blocks until the run is over, one way or another; takes no longer than its limits."""
        self._begin()
        while True:
            self._moves()
            word = self._child.receive(TICK)
            outcome = self._heard(word) or self._checked()
            if outcome is not None:
                return outcome

    def _begin(self) -> None:
        if self._order.runner in self._child.loaded:
            return self._give_order()
        self._heart.note(0.0, "starting")
        self._load_until = time.monotonic() + self._limits.startup
        self._child.send(Load(self._order.runner))
        return None

    def _give_order(self) -> None:
        self._child.send(replace(self._order, seconds_left=self._time.left))

    def _heard(self, word: Word | Death | None) -> Outcome | None:
        match word:
            case Progressed():
                self._heart.note(word.fraction, word.stage)
            case Saved():
                self._checkpoint = word.checkpoint
            case Loaded():
                self._started(word.runner)
            case Extend():
                self._time.ask(word.seconds)
            case SnoozeAsked():
                return self._verdict or Snoozed(word.seconds, self._checkpoint)
            case Finished():
                return self._finished(word)
            case Failed():
                return self._failed(word)
            case Stopped():
                return self._verdict or Canceled()
            case Death():
                return self._died(word)
        return None

    def _started(self, runner: str) -> None:
        self._child.loaded.add(runner)
        self._load_until = None
        self._give_order()

    def _finished(self, word: Finished) -> Outcome:
        if isinstance(self._verdict, Lost | Canceled) or self._heart.signal == "cancel_hard":
            return self._verdict or Canceled()
        # A result that came in spite of a limit is a result: the store decides whether it counts.
        files = produced(word.files, Path(self._order.folder))
        if isinstance(files, Failure):
            return self._verdict or Broken(files, self._checkpoint)
        return Done(files, word.output)

    def _failed(self, word: Failed) -> Outcome:
        if word.restart:
            self._kill(word.code)
        return self._verdict or Broken(failure_of(word), self._checkpoint)

    def _died(self, death: Death) -> Outcome:
        self._tell("child_died", death.cause)
        if self._verdict is None and death.told_to_leave and self._stop.wait(SIGNALS_SPREAD):
            # The model was ended by the word that ends us: no crash of its own.
            return Interrupted(self._checkpoint)
        return self._verdict or Broken(_crash(death), self._checkpoint)

    def _checked(self) -> Outcome | None:
        self._pass_on()
        if self._verdict is None and (verdict := self._limit_passed()):
            self._told_to_stop(verdict)
        if self._verdict is None or time.monotonic() < self._kill_at:
            return None
        self._kill(type(self._verdict).__name__.lower())
        return self._verdict

    def _pass_on(self) -> None:
        if self._stop.asked and not self._drain_told:
            self._drain_told = True
            self._child.send(Drain())
        if self._load_until is None and (news := self._time.news()):
            self._child.send(news)

    def _limit_passed(self) -> Outcome | None:
        if self._heart.lost:
            return Lost()
        if self._heart.signal == "cancel_hard":
            return Canceled()
        if failure := self._time.over():
            return Broken(failure)
        if self._load_until is not None and time.monotonic() >= self._load_until:
            return Broken(startup_timeout(self._limits.startup))
        if self._stop.over:
            return Interrupted(self._checkpoint)
        return None

    def _told_to_stop(self, verdict: Outcome) -> None:
        # Asking first may save the loaded models: a killed child has to load them again. A setup
        # cannot hear, and a worker that leaves needs its models no more.
        deaf = self._load_until is not None or isinstance(verdict, Interrupted)
        self._verdict = verdict
        self._kill_at = time.monotonic() + (0.0 if deaf else self._limits.kill_grace)
        self._child.send(Cancel(self._order.number))

    def _kill(self, why: str) -> None:
        self._tell("child_killed", why)
        self._child.kill()

    def _tell(self, name: str, why: str) -> None:
        event(name, task=self._order.task_id, attempt=self._order.attempt, why=why)


def failure_of(word: Failed) -> Failure:
    """The gateway's form of what the child said."""
    return Failure(
        word.code,
        word.message,
        word.error_class,
        word.details,
        word.retry_after,
    )


def _crash(death: Death) -> Failure:
    message = f"the model's process died: {death.cause}"
    if death.maybe_memory:
        message += "; perhaps memory ran out"
    return Failure(ErrorCode.WORKER_CRASHED, message, ErrorClass.CRASH, death.trace)
