"""A claim, and what becomes of a message whose claim is refused. 2 calls on the happy path."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Final

from taskgate.errors import Refused, Unavailable
from taskgate.events import event, swallowed, transition
from taskgate.gateway.stamps import stamp
from taskgate.gateway.switching import KnownSwitches
from taskgate.gateway.work.capping import Caps, Places
from taskgate.lifecycle import transitions
from taskgate.lifecycle.change import Change, Stamp
from taskgate.lifecycle.transitions import LONGEST_DELAY
from taskgate.lifecycle.verdict import ClaimStep, ClaimVerdict, judge_refusal
from taskgate.ports import Delivery, Ports
from taskgate.task import Task

RESEND_AFTER_RECEIVES: Final = 5
"""A message put back this often is sent afresh: SQS's receive count must not dead-letter it."""
LONGEST_HIDDEN_MS: Final = 60_000
HELD_BACK_MS: Final = 30_000
"""A message that a switch holds back shows again after this: so late may a resumed type start."""
_MOVED_AGAIN: Final = ClaimVerdict(ClaimStep.HIDE, "it moved again", 1_000)


@dataclass(frozen=True, slots=True)
class Held:
    """A claimed task: this worker, and nobody else, may end this attempt."""

    task: Task
    input: str | None
    """The validated input as JSON text; None when the record has none, which should never be."""
    delivery: Delivery

    def at(self, task: Task) -> Held:
        """The same hold on a newer copy of the task."""
        return replace(self, task=task)


@dataclass(frozen=True, slots=True)
class Released:
    """The message was dealt with; there is nothing to run."""

    reason: str


@dataclass(frozen=True, slots=True)
class Claims:
    """The claims of one worker. `lease` is seconds."""

    ports: Ports
    worker: str
    lease: int
    caps: Caps | None = None
    switches: KnownSwitches = field(default_factory=KnownSwitches)

    def claim(self, delivery: Delivery) -> Held | Released:
        """Take the task that the message names, or deal with the message.

        Raises `Unavailable`; the message then comes back by itself.
        """
        held_back = self._held_back(delivery)
        if held_back:
            return self._release(delivery, held_back)
        if self.caps is None:
            return self._claimed(delivery)
        places = self.caps.hold(delivery.message)
        if places.full:
            return self._release(delivery, _over_the_cap(places, self.caps.draw()))
        outcome = self._claimed(delivery)
        if isinstance(outcome, Released):
            self.caps.let_go(places)
        return outcome

    def _held_back(self, delivery: Delivery) -> ClaimVerdict | None:
        """What a switch holds stays in the lane: it is no fault of the task, and costs it nothing."""
        now = self.ports.now()
        switches = self.switches.now(self.ports)
        switch = switches.holding(delivery.lane, delivery.message.type, now)
        if switch is None:
            return None
        rest = HELD_BACK_MS if switch.until is None else min(HELD_BACK_MS, switch.until - now)
        return ClaimVerdict(ClaimStep.HIDE, f"{switch.key} is paused", rest)

    def _claimed(self, delivery: Delivery) -> Held | Released:
        message = delivery.message
        try:
            claim = self._claim(message.task_id, message.attempt, delivery.lane)
            return self._held(claim, None, delivery)
        except Refused as refused:
            return self._refused(delivery, refused.current)

    def _claim(self, task_id: str, attempt: int, lane: str) -> Change:
        lease = self.lease * 1000
        return transitions.claim(task_id, attempt, self._stamp(), self.worker, lease, lane)

    def _held(self, change: Change, before: Task | None, delivery: Delivery) -> Held:
        task = self._applied(change, before)
        try:
            text = self.ports.tasks.get_input(task.id)
        except Unavailable:
            self._undo(task)
            raise
        return Held(task, text, delivery)

    def _undo(self, task: Task) -> None:
        """It waits again: an interruption, since a store that is away is no crash of the task."""
        if not task.budgets.interruptions.left:
            return
        try:
            made = self._stamp("its input could not be read")
            paused = self._applied(transitions.hand_back(task, made, task.checkpoint), task)
            self._applied(transitions.resume(paused, self._stamp()), paused)
        except (Refused, Unavailable) as error:
            # Left as it is: the lease ends by itself, or the sweep resumes it.
            swallowed("claim_not_undone", error, task=task.id)

    def _applied(self, change: Change, before: Task | None) -> Task:
        after = self.ports.tasks.apply(change)
        transition(change, before, after)
        return after

    def _refused(self, delivery: Delivery, current: Task | None) -> Held | Released:
        now, beat_at = self.ports.now(), self._beat_at(current)
        verdict = judge_refusal(
            current, beat_at, now, receives=delivery.receives, lane=delivery.lane
        )
        if current is None or verdict.step in (ClaimStep.DROP, ClaimStep.HIDE):
            return self._release(delivery, verdict)
        try:
            return self._held(
                self._second_claim(current, verdict, delivery.lane), current, delivery
            )
        except Refused:
            # Leave the message for a moment and look afresh then.
            return self._release(delivery, _MOVED_AGAIN)

    def _second_claim(self, current: Task, verdict: ClaimVerdict, lane: str) -> Change:
        if verdict.step is ClaimStep.TAKE_OVER:
            return transitions.take_over(current, self._stamp(verdict.reason), self.worker)
        return self._claim(current.id, current.attempt, lane)

    def _beat_at(self, current: Task | None) -> int | None:
        if current is None or current.state.ended:
            return None
        pulse = self.ports.pulses.get(current.id)
        return pulse.beat_at if pulse and pulse.attempt == current.attempt else None

    def _release(self, delivery: Delivery, verdict: ClaimVerdict) -> Released:
        task_id, lanes = delivery.message.task_id, self.ports.lanes
        event("message_released", task=task_id, step=verdict.step, reason=verdict.reason)
        seconds = -(-verdict.hide_ms // 1000)
        if verdict.step is ClaimStep.DROP:
            lanes.delete(delivery)
        elif delivery.receives >= RESEND_AFTER_RECEIVES:
            lanes.send(delivery.lane, delivery.message, min(seconds, LONGEST_DELAY // 1000))
            lanes.delete(delivery)
        else:
            lanes.hide(delivery, seconds)
        return Released(verdict.reason)

    def _stamp(self, reason: str = "") -> Stamp:
        return stamp(self.ports.now(), f"worker:{self.worker}", reason)


def _over_the_cap(places: Places, draw: float) -> ClaimVerdict:
    """Hidden for the longer the more of them there are, jittered: one that waits alone starts soon
    after its cap has room, and a thousand do not keep the workers busy with looking at them.
    """
    longest = min(LONGEST_HIDDEN_MS, 1_000 + 250 * places.refusals)
    reason = f"{places.full} is at its cap"
    return ClaimVerdict(ClaimStep.HIDE, reason, round(longest * (1 + draw) / 2))
