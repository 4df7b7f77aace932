"""The outbox: settle what ended tasks owe, one duty and one guarded write at a time.

Nothing about it lives in a process: a copy that dies leaves a clock that stands, and two copies at
once are one, since each write names the version that it read.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Final, Protocol

from taskgate.catalog import Catalog
from taskgate.errors import Refused, Unavailable
from taskgate.events import event, swallowed
from taskgate.gateway import announcing
from taskgate.gateway.outbox import delivering, news, salvaging
from taskgate.gateway.outbox.cleaning import Leftover, cleaned
from taskgate.gateway.outbox.delivering import Attempt, Delivered, Go, PutOff, TryAt
from taskgate.gateway.outbox.following import create_follow_ups
from taskgate.gateway.stamps import stamp
from taskgate.lifecycle import owing
from taskgate.lifecycle.change import Change, Stamp
from taskgate.lifecycle.history import cap_bytes
from taskgate.lifecycle.states import Verb
from taskgate.ports import Due, Ports
from taskgate.receivers import mark_of, receiver_at
from taskgate.settings import Environment
from taskgate.task import Duty, Task, Tried
from taskgate.webhooks.signing import signed

PAGE: Final = 100
MOST_DETAIL: Final = 80
"""Bytes that are kept of what is said about an attempt: a task with its callback stays small."""
LONGEST_TURN_MS: Final = 5_000
"""A turn is two seconds ahead at most; another machine's clock may be wrong, and the lease is short."""
LONGEST_DELAY: Final = 900
"""Seconds that a message may be delayed; a later attempt is the clock's to bring."""


class Courier(Protocol):
    """Sends the bytes to the address, and says what came of it. It raises nothing."""

    def __call__(self, url: str, headers: Mapping[str, str], body: bytes) -> Attempt: ...


@dataclass(slots=True)
class Backstop:
    """What one run of the backstop found and did."""

    errands: int = 0
    oldest_owed_ms: int = 0
    """How long the debt that waits longest has been due."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Outbox:
    """What settling needs beside the ports."""

    ports: Ports
    catalog: Catalog
    environment: Environment
    courier: Courier
    secrets: Callable[[str], tuple[str, ...]]
    """A tenant's signing secrets, the newest first."""
    draw: Callable[[], float] = random.random
    sleep: Callable[[float], None] = time.sleep

    def settle(self, task_id: str) -> str:
        """Settle the first duty of the task that is due; returns what was done."""
        task = self.ports.tasks.get(task_id)
        if task is None or not task.state.ended or not task.owes:
            return "nothing_owed"
        if (task.owed_at or 0) > self.ports.now():
            return "not_due"
        try:
            return self._settle(task)
        except Refused:
            return "outrun"

    def tell(self, task_id: str, told: str) -> str:
        """Send one piece of news of a running task, once: whatever comes of it is not kept."""
        task, pulse = self.ports.tasks.get_with_pulse(task_id)
        if task is None or task.callback is None or not news.current(task, told):
            return "no_news"
        now, receiver = self.ports.now(), _receiver(task)
        seen = self.ports.receivers.get(receiver)
        if seen.is_open:
            return "receiver_ill"  # its probes are for what must be delivered
        mine = pulse if pulse and pulse.attempt == task.attempt else None
        raw = news.body(task, mine, told, now).encode()
        message = f"{announcing.message_id(task)}_{task.version}_{now}"
        headers = signed(message, now // 1000, raw, self.secrets(task.owner.tenant))
        headers |= task.trace_headers("news", task.version, told)
        attempt = self.courier(task.callback.url, headers, raw)
        self._noted(receiver, Go(seen), attempt)
        event("news", task=task.id, news=told, status=attempt.status, reason=attempt.reason.value)
        return "told"

    def errands_due(self, shards: Iterable[int], stop_at: int) -> Backstop:
        """The backstop: send an errand for every owed clock that is due."""
        done = Backstop()
        for shard in shards:
            self._errands_of(shard, stop_at, done)
        return done

    def _errands_of(self, shard: int, stop_at: int, done: Backstop) -> None:
        start = None
        while self.ports.now() < stop_at:
            try:
                page = self.ports.tasks.owed(shard, self.ports.now(), PAGE, start)
            except Unavailable as error:
                # The others are not held up by it; what is owed there is owed still.
                swallowed("shard_unreadable", error, shard=shard)
                return
            for due in page.rows:
                done.errands += self._sent(due)
                done.oldest_owed_ms = max(done.oldest_owed_ms, self.ports.now() - due.due_at)
            start = page.next
            if start is None:
                break

    def _sent(self, due: Due) -> bool:
        try:
            self.ports.errands.send(due.task_id, 0)
        except Unavailable as error:
            swallowed("errand_unsent", error, task=due.task_id)
            return False
        return True

    def _settle(self, task: Task) -> str:
        match task.owes[0]:
            case Duty.FOLLOW_UPS:
                create_follow_ups(self.ports, self.catalog, self.environment, task)
                return self._done(task, Duty.FOLLOW_UPS)
            case Duty.CLEAN_UP:
                cleaned(task, Leftover.REFUSED, self._clean_up(task))
                return self._done(task, Duty.CLEAN_UP)
            case Duty.CALLBACK:
                return self._call_back(task)
            case Duty.SALVAGE:
                return self._remove_salvage(task)

    def _remove_salvage(self, task: Task) -> str:
        """What a soft-cancelled run brought goes when nobody can be given it any more."""
        # Somebody may be copying it right now. One who has it has copied it.
        until = 0 if task.kept_until is None else task.kept_until + salvaging.MARGIN_MS
        if self.ports.now() < until:
            return self._put_off(task, until)
        cleaned(task, Leftover.SALVAGE, salvaging.remove(self.ports, task))
        return self._done(task, Duty.SALVAGE)

    def _done(self, task: Task, duty: Duty) -> str:
        after = self.ports.tasks.apply(owing.settled(task, self._stamp(), duty))
        # What else it owes need not wait for anything.
        now = (after.owed_at or 0) <= self.ports.now()
        return self._settle(after) if after.owes and now else f"settled_{duty}"

    def _clean_up(self, task: Task) -> int:
        """Remove what refused attempts left behind; the winner's files stay."""
        below = f"r/{task.owner.tenant}/{task.id}/"
        winner = task.attempt if task.result or task.salvaged else None
        # Attempt by attempt: one that a reopened task has begun meanwhile is none of ours.
        lost = [n for n in range(1, task.attempt + 1) if n != winner]
        return sum(self.ports.results.remove(f"{below}{n}/") for n in lost)

    def _call_back(self, task: Task) -> str:
        assert task.callback is not None  # noqa: S101 - a callback is owed
        receiver = _receiver(task)
        now = self.ports.now()
        admitted = delivering.admit(
            self.ports.receivers, receiver, owed_since=_owed_since(task), now=now
        )
        if isinstance(admitted, PutOff):
            return self._put_off(task, admitted.until)
        if not isinstance(admitted, Go):
            self.ports.tasks.apply(owing.given_up(task, self._stamp(), None))
            event("callback_given_up", task=task.id, reason=admitted.reason)
            return "given_up"
        # Nobody else tries while this attempt is under way, whatever becomes of us.
        task = self.ports.tasks.apply(owing.begun(task, self._stamp()))
        started = self.ports.now()
        attempt = self._sent_to(task, receiver if admitted.in_line else None)
        self._noted(receiver, admitted, attempt)
        return self._recorded(task, attempt, started)

    def _noted(self, receiver: str, went: Go, attempt: Attempt) -> None:
        now, draw = self.ports.now(), self.draw()
        try:
            delivering.note(self.ports.receivers, receiver, went, attempt, now=now, draw=draw)
        except Unavailable as error:
            # What is known of the receiver is a help; that it has the callback must go on record.
            swallowed("receiver_not_noted", error, receiver=mark_of(receiver))

    def _sent_to(self, task: Task, line: str | None) -> Attempt:
        assert task.callback is not None  # noqa: S101 - a callback is owed
        text = self.ports.tasks.callback_body(task.id, task.generation, announcing.body(task))
        raw, secrets = text.encode(), self.secrets(task.owner.tenant)
        if line is not None:
            self._wait_for_turn(line)
        headers = signed(announcing.message_id(task), self.ports.now() // 1000, raw, secrets)
        headers |= task.trace_headers("callback", task.generation, task.callback.tries + 1)
        return self.courier(task.callback.url, headers, raw)

    def _wait_for_turn(self, line: str) -> None:
        now = self.ports.now()
        ahead = delivering.turn(self.ports.receivers, line, now) - now
        self.sleep(min(ahead, LONGEST_TURN_MS) / 1000)

    def _recorded(self, task: Task, attempt: Attempt, started: int) -> str:
        assert task.callback is not None  # noqa: S101 - a callback is owed
        now = self.ports.now()
        detail = cap_bytes(attempt.detail, MOST_DETAIL)
        tried = Tried(started, attempt.status, attempt.ms, attempt.reason.value, detail)
        event(
            "callback",
            task=task.id,
            status=attempt.status,
            reason=attempt.reason.value,
            ms=attempt.ms,
            since_end_ms=now - (task.ended_at or now),
        )
        decision = delivering.decide(attempt, task.callback.schedule + 1, now=now, draw=self.draw())
        if isinstance(decision, Delivered):
            self._listed(owing.delivered(task, self._stamp(), tried), task, tried)
            return "delivered"
        if isinstance(decision, TryAt):
            change = owing.tried_again_at(task, self._stamp(), tried, decision.when)
            self._listed(change, task, tried)
            self._errand(task, decision.when)
            return "failed"
        self._listed(owing.given_up(task, self._stamp(), tried), task, tried)
        event("callback_given_up", task=task.id, reason=decision.reason)
        return "given_up"

    def _listed(self, change: Change, task: Task, tried: Tried) -> None:
        """Put on record what came of the attempt. If somebody asked for the callback anew meanwhile,
        it stays owed, and this attempt is listed all the same.
        """
        try:
            self.ports.tasks.apply(change)
        except Refused as refused:
            now = refused.current
            if now and now.state.ended and now.generation == task.generation and now.callback:
                self.ports.tasks.apply(owing.tried_beside(now, self._stamp(), tried))
            raise

    def _put_off(self, task: Task, until: int) -> str:
        self.ports.tasks.apply(owing.put_off(task, self._stamp(), until))
        self._errand(task, until)
        return "put_off"

    def _errand(self, task: Task, at: int) -> None:
        """A look at `at`, when a message can wait that long; else the clock brings it."""
        delay = -(-(at - self.ports.now()) // 1000)
        if delay > LONGEST_DELAY:
            return
        try:
            self.ports.errands.send(task.id, max(0, delay))
        except Unavailable as error:
            swallowed("errand_left_to_clock", error, task=task.id)

    def _stamp(self) -> Stamp:
        return stamp(self.ports.now(), "outbox")


def _owed_since(task: Task) -> int:
    """Since its end, or since somebody last asked for it anew: an old end is no reason to give up."""
    asked = (entry.at for entry in task.history if entry.verb is Verb.REDELIVER)
    return max([task.ended_at or task.since, *asked])


def _receiver(task: Task) -> str:
    return receiver_at(task.owner.tenant, task.callback.url if task.callback else "")
