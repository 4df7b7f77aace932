"""What a worker may do: claim, beat, report, and end its attempt in one of four ways."""

from __future__ import annotations

import hashlib
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from taskgate.catalog import Catalog
from taskgate.errors import Refused, TaskgateError, Unavailable, UnknownTaskType
from taskgate.events import event, swallowed, transition
from taskgate.gateway.stamps import stamp
from taskgate.lifecycle import transitions
from taskgate.lifecycle.change import Change, Stamp
from taskgate.lifecycle.retry import ErrorClass, ErrorCode, GiveUp, RetryAt, RetryPolicy, decide
from taskgate.lifecycle.transitions import LONGEST_DELAY, Outcome
from taskgate.lifecycle.verdict import ClaimStep, ClaimVerdict, judge_refusal
from taskgate.ports import Delivery, Message, Ports, Pulse, Signal
from taskgate.settings import Environment
from taskgate.task import ResultFile, Task, TaskError

RESEND_AFTER_RECEIVES: Final = 5
"""A message put back this often is sent afresh: SQS's receive count must not dead-letter it."""
MAX_HIDE: Final = 43_200


@dataclass(frozen=True, slots=True)
class Held:
    """A claimed task: this worker, and nobody else, may end this attempt."""

    task: Task
    input: str
    delivery: Delivery
    lease_ms: int


@dataclass(frozen=True, slots=True)
class Released:
    """The message was dealt with; there is nothing to run."""

    reason: str


@dataclass(frozen=True, slots=True)
class Produced:
    """A file that the run made."""

    name: str
    path: str
    content_type: str


@dataclass(frozen=True, slots=True)
class Failure:
    """How a run ended badly. `retry_after` is seconds, as the upstream asked."""

    code: ErrorCode
    message: str
    error_class: ErrorClass
    details: str = ""
    retry_after: float | None = None


class WorkerGateway:
    """The verbs of one worker. Safe to call from several threads; it keeps no state."""

    def __init__(
        self,
        ports: Ports,
        catalog: Catalog,
        environment: Environment,
        worker: str,
        draw: Callable[[], float] = random.random,
    ) -> None:
        self._ports, self._catalog, self._draw = ports, catalog, draw
        self._worker, self._lease = worker, environment.lease

    def claim(self, delivery: Delivery) -> Held | Released:
        """Take the task that the message names, or deal with the message: 2 calls and the receive.

        Raises `Unavailable`; the message then comes back by itself.
        """
        message = delivery.message
        change = transitions.claim(
            message.task_id, message.attempt, self._stamp(), self._worker, self._lease * 1000
        )
        try:
            return self._held(change, delivery)
        except Refused as refused:
            return self._refused(delivery, refused.current)

    def beat(self, held: Held, progress: float, stage: str) -> Signal | None:
        """Say that the attempt lives: pulse and visibility, 2 calls; returns a word for us.

        Raises `LeaseLost` when the task is somebody else's now.
        """
        signal = self.report(held, progress, stage)
        try:
            self._ports.lanes.hide(held.delivery, self._lease)
        except TaskgateError as error:
            # The lease, not the receipt, is the authority: a lost receipt only means one more look.
            swallowed("visibility_not_extended", error, task=held.task.id)
        return signal

    def report(self, held: Held, progress: float, stage: str) -> Signal | None:
        """Progress between two beats: the pulse alone, 1 call."""
        pulse = self._ports.pulses.beat(
            Pulse(
                task_id=held.task.id,
                attempt=held.task.attempt,
                worker=self._worker,
                beat_at=self._ports.now(),
                progress=progress,
                stage=stage,
            )
        )
        signal = pulse.signal
        return signal if signal and signal.attempt == held.task.attempt else None

    def succeed(self, held: Held, files: Sequence[Produced], output: str | None) -> Task:
        """Store the files and end the task: 3 calls for one file.

        Raises `Refused` when the attempt no longer counts: its `current` tells why.
        """
        stored = tuple(self._store(held.task, file) for file in files)
        change = transitions.succeed(held.task, self._stamp(), Outcome(stored, output))
        return self._end(held, change)

    def fail(self, held: Held, failure: Failure) -> Task:
        """Report a bad end; the type's retry policy decides whether another attempt follows."""
        error = TaskError(failure.code, failure.message, failure.error_class, failure.details)
        now = self._ports.now()
        decision = decide(
            failure.error_class,
            held.task.budgets,
            self._policy(held.task),
            now=now,
            deadline_at=held.task.deadline_at,
            draw=self._draw(),
            retry_after=failure.retry_after,
        )
        reason = decision.reason if isinstance(decision, GiveUp) else failure.code.value
        change = transitions.fail(held.task, self._stamp(reason), error, decision)
        after = self._apply(change, held.task)
        if isinstance(decision, RetryAt) and decision.not_before - now <= LONGEST_DELAY:
            self._send(after, max(0, -(-(decision.not_before - now) // 1000)))
        self._delete(held.delivery)
        return after

    def stopped(self, held: Held) -> Task:
        """Acknowledge a cancel: nothing of the task runs here any more."""
        current = self._ports.tasks.get(held.task.id)
        if current is None or current.attempt != held.task.attempt or current.state.ended:
            raise Refused(current)
        return self._end(held, transitions.stopped(current, self._stamp()))

    def hand_back(self, held: Held, checkpoint: str | None) -> Task:
        """Give an unfinished task back while draining; it is in its lane again at once."""
        if not held.task.budgets.interruptions.left:
            return self.fail(held, _INTERRUPTED)
        paused = self._apply(
            transitions.hand_back(held.task, self._stamp("draining"), checkpoint), held.task
        )
        try:
            after = self._apply(transitions.resume(paused, self._stamp("draining")), paused)
        except (Refused, Unavailable) as error:
            # Paused with a clock that is due: the sweep resumes it.
            swallowed("resume_left_to_sweep", error, task=paused.id)
            return paused
        self._send(after)
        self._delete(held.delivery)
        return after

    def _held(self, change: Change, delivery: Delivery) -> Held:
        task = self._apply(change, None)
        text = self._ports.tasks.get_input(task.id)
        return Held(task, text or "{}", delivery, self._lease * 1000)

    def _refused(self, delivery: Delivery, current: Task | None) -> Held | Released:
        verdict = judge_refusal(
            current, self._beat_at(current), self._ports.now(), receives=delivery.receives
        )
        if current is None or verdict.step in (ClaimStep.DROP, ClaimStep.HIDE):
            return self._release(delivery, verdict)
        try:
            return self._held(self._second_claim(current, verdict), delivery)
        except Refused:
            # It moved again: leave the message hidden for a lease and look afresh then.
            return self._release(delivery, ClaimVerdict(ClaimStep.HIDE, "it moved", 1000))

    def _second_claim(self, current: Task, verdict: ClaimVerdict) -> Change:
        if verdict.step is ClaimStep.TAKE_OVER:
            return transitions.take_over(current, self._stamp(verdict.reason), self._worker)
        lease = self._lease * 1000
        return transitions.claim(current.id, current.attempt, self._stamp(), self._worker, lease)

    def _beat_at(self, current: Task | None) -> int | None:
        if current is None or current.state.ended:
            return None
        pulse = self._ports.pulses.get(current.id)
        return pulse.beat_at if pulse and pulse.attempt == current.attempt else None

    def _release(self, delivery: Delivery, verdict: ClaimVerdict) -> Released:
        event("message_released", task=delivery.message.task_id, step=verdict.step,
              reason=verdict.reason)  # fmt: skip
        if verdict.step is ClaimStep.DROP:
            self._delete(delivery)
            return Released(verdict.reason)
        seconds = min(MAX_HIDE, -(-verdict.hide_ms // 1000))
        if delivery.receives >= RESEND_AFTER_RECEIVES:
            self._ports.lanes.send(delivery.lane, delivery.message, min(seconds, 900))
            self._delete(delivery)
        else:
            self._ports.lanes.hide(delivery, seconds)
        return Released(verdict.reason)

    def _store(self, task: Task, file: Produced) -> ResultFile:
        key = f"r/{task.owner.tenant}/{task.id}/{task.attempt}/{file.name}"
        path = Path(file.path)
        with path.open("rb") as stream:
            digest = hashlib.file_digest(stream, "sha256").digest()
        self._ports.results.put(key, file.path, file.content_type)
        return ResultFile(file.name, key, path.stat().st_size, digest, file.content_type)

    def _end(self, held: Held, change: Change) -> Task:
        after = self._apply(change, held.task)
        self._delete(held.delivery)
        return after

    def _apply(self, change: Change, before: Task | None) -> Task:
        after = self._ports.tasks.apply(change)
        transition(change, before, after)
        return after

    def _send(self, task: Task, delay: int = 0) -> None:
        try:
            self._ports.lanes.send(task.lane, Message(task.id, task.attempt), delay)
        except Unavailable as error:
            swallowed("send_left_to_sweep", error, task=task.id)

    def _delete(self, delivery: Delivery) -> None:
        try:
            self._ports.lanes.delete(delivery)
        except TaskgateError as error:
            # It comes back, meets a task that has ended or moved on, and is dropped then.
            swallowed("message_not_deleted", error, task=delivery.message.task_id)

    def _stamp(self, reason: str = "") -> Stamp:
        return stamp(self._ports.now(), f"worker:{self._worker}", reason)

    def _policy(self, task: Task) -> RetryPolicy:
        try:
            return self._catalog[task.type].retry
        except UnknownTaskType:
            return RetryPolicy()


_INTERRUPTED: Final = Failure(
    ErrorCode.WORKER_CRASHED, "interrupted too often", ErrorClass.INTERRUPTION
)
