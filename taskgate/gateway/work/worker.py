"""What a worker may do: claim, beat, report, extend, and end its attempt in one of five ways."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from taskgate.catalog import Catalog
from taskgate.errors import Refused, TaskgateError, Unavailable
from taskgate.events import event, swallowed, transition
from taskgate.gateway.door.fetching import Files
from taskgate.gateway.outbox import news, salvaging
from taskgate.gateway.stamps import stamp
from taskgate.gateway.steer.operating import note_refusal, policy_of
from taskgate.gateway.switching import KnownSwitches
from taskgate.gateway.views import canceling
from taskgate.gateway.work.capping import Caps
from taskgate.gateway.work.claiming import Claims, Held, Released
from taskgate.gateway.work.storing import Produced, store
from taskgate.lifecycle import transitions
from taskgate.lifecycle.change import Change, Stamp
from taskgate.lifecycle.retry import ErrorClass, ErrorCode, GiveUp, RetryAt, decide
from taskgate.lifecycle.states import HELD, State
from taskgate.lifecycle.transitions import LONGEST_DELAY, Outcome
from taskgate.ports import Delivery, Message, Ports, Pulse, Signal
from taskgate.pulses import MAX_STAGE
from taskgate.settings import Environment
from taskgate.switches import Kind
from taskgate.task import ResultFile, Task, TaskError

MAX_REBUILDS: Final = 5
SNOOZE: Final = range(1, 12 * 3600 + 1)
"""Seconds that a runner may put its task off for."""

__all__ = ["Failure", "Held", "Produced", "Released", "WorkerGateway"]


@dataclass(frozen=True, slots=True)
class Failure:
    """How a run ended badly. `retry_after` is seconds, as the upstream asked."""

    code: ErrorCode
    message: str
    error_class: ErrorClass
    details: str = ""
    retry_after: float | None = None


class WorkerGateway:
    """The verbs of one worker. Safe to call from several threads; it keeps no state.

    Every verb that ends an attempt raises `Refused` when the attempt no longer counts (its
    `current` tells why) and `Unavailable` when the store is away; trying the latter again is safe.
    """

    def __init__(
        self,
        ports: Ports,
        catalog: Catalog,
        environment: Environment,
        worker: str,
        draw: Callable[[], float] = random.random,
    ) -> None:
        self._ports, self._catalog, self._draw = ports, catalog, draw
        self.worker, self._lease = worker, environment.lease
        self._salvage_seconds = environment.salvage_seconds
        caps = Caps(ports, ports.slots, catalog, environment.lease, draw) if ports.slots else None
        self._switches = KnownSwitches()
        self._claims = Claims(ports, worker, environment.lease, caps, self._switches)

    def claim(self, delivery: Delivery) -> Held | Released:
        """Take the task that the message names, or deal with the message: receive + 2 calls."""
        return self._claims.claim(delivery)

    def paused(self, lane: str) -> bool:
        """Whether an operator has paused the lane: nothing is to be received from it."""
        return self._switches.now(self._ports).on(Kind.LANE, lane, self._ports.now()) is not None

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
                worker=self.worker,
                beat_at=self._ports.now(),
                progress=progress,
                stage=stage[:MAX_STAGE],
            )
        )
        news.leave(self._ports, held.task, news.PROGRESS)
        return canceling.heard(self._ports, pulse)

    def refresh(self, held: Held) -> Held:
        """The hold on the task as it is now: its limits may have been extended."""
        current = self._ports.tasks.get(held.task.id)
        if current is None or current.attempt != held.task.attempt or current.state not in HELD:
            raise Refused(current)
        return held.at(current)

    def extend(self, held: Held, seconds: int) -> Held:
        """The runner needs longer: at most the type's `max_run` in all."""
        by = "by the runner"
        after = self._apply(held, lambda t: transitions.extend(t, self._stamp(by), seconds))
        return held.at(after)

    def files(self, held: Held, go_on: Callable[[], None] = lambda: None) -> Files:
        """What the run may read beside its input; `go_on` ends a download by raising."""
        return Files(self._ports, held.task.owner, go_on)

    def succeed(self, held: Held, files: Sequence[Produced], output: str | None) -> Task:
        """Store the files and end the task: 3 calls for one file.

        A result that comes too late is set aside, and the history says where.
        """
        stored = tuple(store(self._ports, held.task, file) for file in files)
        outcome, now = Outcome(stored, output), self._ports.now()
        kept = salvaging.of_success(self._catalog, held.task, held.input, outcome, now)
        try:
            if salvaging.soft(held.task, held.task.attempt):
                # Read again for an extension, our copy knows of the cancel already.
                return self._keep(held, outcome)
            return self._end(held, lambda t: transitions.succeed(t, self._stamp(), outcome, kept))
        except Refused as refused:
            current = refused.current
            if current and salvaging.soft(current, held.task.attempt):
                return self._keep(held.at(current), outcome)
            if current and _won(held.task, current):
                # An earlier try of ours was written, and its answer was lost.
                self._delete(held.delivery)
                return current
            self._set_aside(held, stored, current)
            raise

    def fail(self, held: Held, failure: Failure, checkpoint: str | None = None) -> Task:
        """Report a bad end; the type's retry policy decides whether another attempt follows.

        What the run had saved is there for the next attempt.
        """
        error = TaskError(failure.code, failure.message, failure.error_class, failure.details)
        decision = self._decide(held.task, failure)
        reason = decision.reason if isinstance(decision, GiveUp) else failure.code.value
        made = self._stamp(reason)
        after = self._apply(
            held, lambda t: transitions.fail(t, made, error, decision, checkpoint=checkpoint)
        )
        if after.state is State.RETRYING:
            event("retry", task=after.id, type=after.type, error_class=failure.error_class)
        return self._requeued(held, after)

    def snooze(self, held: Held, seconds: int, checkpoint: str | None = None) -> Task:
        """The runner asks to be called again later; no budget is spent."""
        seconds = min(max(seconds, SNOOZE.start), SNOOZE.stop - 1)
        made = self._stamp(f"snoozed for {seconds} s")
        until = made.at + seconds * 1000
        after = self._apply(held, lambda t: transitions.snooze(t, made, until, checkpoint))
        return self._requeued(held, after)

    def stopped(self, held: Held) -> Task:
        """Acknowledge a cancel: nothing of the task runs here any more."""
        current, seen_at = self.refresh(held), canceling.seen_at(self._ports, held.task)
        return self._end(
            current, lambda t: transitions.stopped(t, self._stamp(), seen_at=seen_at(t))
        )

    def hand_back(self, held: Held, checkpoint: str | None) -> Task:
        """Give an unfinished task back while draining; it is in its lane again at once."""
        if not held.task.budgets.interruptions.left:
            return self.fail(held, _INTERRUPTED)
        made = self._stamp("draining")
        paused = self._apply(held, lambda t: transitions.hand_back(t, made, checkpoint))
        try:
            change = transitions.resume(paused, self._stamp("draining"))
            after = self._written(change, paused)
        except (Refused, Unavailable) as error:
            # Paused with a clock that is due: the sweep resumes it.
            swallowed("resume_left_to_sweep", error, task=paused.id)
            return paused
        return self._requeued(held, after)

    def _keep(self, held: Held, outcome: Outcome) -> Task:
        """A soft-cancelled run came to its end: canceled, and its result kept in the same write."""
        seen_at, seconds = canceling.seen_at(self._ports, held.task), self._salvage_seconds
        kept = salvaging.of_soft_cancel(
            self._catalog, held.task, held.input, outcome, self._ports.now(), seconds
        )

        def end(task: Task) -> Change:
            still_soft = salvaging.soft(task, held.task.attempt)
            made, keeps = self._stamp(), kept if still_soft else None
            return transitions.stopped(task, made, seen_at=seen_at(task), salvage=keeps)

        after = self._end(held, end)
        event("salvaged", task=after.id, type=after.type, kept="yes" if after.kept_until else "no")
        return after

    def _decide(self, task: Task, failure: Failure) -> RetryAt | GiveUp:
        policy, now = policy_of(self._catalog, task), self._ports.now()
        decision = decide(
            failure.error_class,
            task.budgets,
            policy,
            now=now,
            deadline_at=task.deadline_at,
            draw=self._draw(),
            retry_after=failure.retry_after,
        )
        if isinstance(decision, GiveUp):
            return decision
        try:
            slot = self._ports.rates.reserve(
                f"RETRY#{task.type}", round(1000 / policy.per_second), policy.burst
            )
        except Unavailable as error:
            swallowed("retry_slot_not_reserved", error, task=task.id)
            return decision
        return RetryAt(min(max(decision.not_before, slot), task.deadline_at - 1))

    def _requeued(self, held: Held, after: Task) -> Task:
        """Send what comes back soon; what comes back later is the clock's to send."""
        if not after.state.ended and after.not_before is None:
            self._send(after)
        elif after.not_before and after.sent_at is not None:
            self._send(after, max(0, -(-(after.not_before - self._ports.now()) // 1000)))
        self._delete(held.delivery)
        return after

    def _end(self, held: Held, build: Callable[[Task], Change]) -> Task:
        after = self._apply(held, build)
        self._delete(held.delivery)
        return after

    def _apply(self, held: Held, build: Callable[[Task], Change]) -> Task:
        """Write what `build` makes of our copy; of a newer one while the attempt is still ours."""
        task = held.task
        for _ in range(MAX_REBUILDS):
            change = build(task)
            try:
                return self._written(change, task)
            except Refused as refused:
                current = refused.current
                if current is None or not change.guard.admits_but_version(current):
                    raise
                task = current
        raise Unavailable

    def _written(self, change: Change, before: Task) -> Task:
        after = self._ports.tasks.apply(change)
        transition(change, before, after)
        return after

    def _set_aside(self, held: Held, files: Sequence[ResultFile], current: Task | None) -> None:
        event("late_result", task=held.task.id, attempt=held.task.attempt, files=len(files))
        if current is not None and current.state is not State.CANCELING:
            folder = files[0].key.rpartition("/")[0] if files else ""
            where = f"{folder}, kept until the clean-up" if folder else "it had no files"
            note_refusal(self._ports, current, held.task.attempt, self._stamp().actor, where)

    def _send(self, task: Task, delay: int = 0) -> None:
        try:
            seconds = min(delay, LONGEST_DELAY // 1000)
            self._ports.lanes.send(task.lane, Message.of(task), seconds)
        except Unavailable as error:
            swallowed("send_left_to_sweep", error, task=task.id)

    def _delete(self, delivery: Delivery) -> None:
        try:
            self._ports.lanes.delete(delivery)
        except TaskgateError as error:
            # It comes back, meets a task that has ended or moved on, and is dropped then.
            swallowed("message_not_deleted", error, task=delivery.message.task_id)

    def _stamp(self, reason: str = "") -> Stamp:
        return stamp(self._ports.now(), f"worker:{self.worker}", reason)


def _won(held: Task, current: Task) -> bool:
    """Whether this attempt, and so nobody but us, has ended the task with what it brought."""
    brought = current.state is State.SUCCEEDED or current.salvaged
    return brought and current.attempt == held.attempt


_INTERRUPTED: Final = Failure(
    ErrorCode.WORKER_CRASHED, "interrupted too often", ErrorClass.INTERRUPTION
)
