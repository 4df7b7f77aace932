"""The tasks table in memory. Every operation is atomic under one lock."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, replace
from typing import Final

from taskgate.errors import Refused, TooManyPendingTasks
from taskgate.lifecycle.change import Change, LedgerMove, PulseGuard, applied
from taskgate.lifecycle.states import State
from taskgate.ports import Due, IdempotencyKey, Ledger, Page, Problem, Pulse, Replay, Submission
from taskgate.salvage import Salvage
from taskgate.shards import PROBLEM_SHARDS, shard_of
from taskgate.task import Owner, Task
from taskgate.testing.memory.pulses import MemoryPulses
from taskgate.testing.memory.salvages import MemorySalvages

COUNTS: Final = tuple(field for field in Ledger.__dataclass_fields__ if field != "active")
_RECORDS: Final = ("tasks", "books", "_inputs", "_then", "_bodies", "_idempotency")


@dataclass
class _Record:
    key: IdempotencyKey
    task_id: str


class MemoryStore:
    """The tasks table: records, ledgers and idempotency keys."""

    def __init__(
        self, now: Callable[[], int], pulses: MemoryPulses, clock_shards: int = 16
    ) -> None:
        self._now, self._pulses, self._clock_shards = now, pulses, clock_shards
        self.lock = pulses.lock
        self.tasks: dict[str, Task] = {}
        self.books: dict[tuple[Owner, int], Ledger] = {}
        """Each user's ledger, by its shards."""
        self.salvages = MemorySalvages()
        self._inputs: dict[str, str] = {}
        self._then: dict[str, str] = {}
        self._bodies: dict[tuple[str, int], str] = {}
        self._idempotency: dict[tuple[Owner, str], _Record] = {}

    def create(self, submission: Submission) -> Replay | Salvage | None:
        task, key = submission.task, submission.idempotency
        with self.lock:
            if known := self.tasks.get(task.id):
                if known.op_id == task.op_id:
                    return None
                raise Refused(None, "The task id is taken.")
            if key and (replay := self.find_replay(task.owner, key.key)):
                return replay
            if salvage := self.salvages.found(submission, self._now() // 1000):
                return salvage
            self._require_place(submission)
            self._enter(submission)
        return None

    def apply(self, change: Change) -> Task:
        with self.lock:
            task = self.tasks.get(change.task_id)
            if task is not None and task.op_id == change.stamp.op_id:
                return task
            if task is None or not change.guard.admits(task) or not self._quiet(task, change):
                raise Refused(task)
            self._require_room(change.ledger)
            after = applied(task, change)
            self.tasks[task.id] = after
            if change.ledger:
                self._book(task.id, change.ledger)
            if change.salvage:
                self.salvages.keep(change.salvage)
            return after

    def backup(self) -> Mapping[str, object]:
        """The whole table as it is now, for `restore`."""
        with self.lock:
            return {name: copy(getattr(self, name)) for name in _RECORDS}

    def restore(self, backup: Mapping[str, object]) -> None:
        """The table as it was; what is beside it stays as it is."""
        with self.lock:
            for name, value in backup.items():
                setattr(self, name, copy(value))

    def get(self, task_id: str) -> Task | None:
        return self.tasks.get(task_id)

    def get_with_pulse(self, task_id: str) -> tuple[Task | None, Pulse | None]:
        with self.lock:
            return self.tasks.get(task_id), self._pulses.get(task_id)

    def get_many(self, task_ids: Sequence[str]) -> Mapping[str, Task]:
        with self.lock:
            return {i: self.tasks[i] for i in task_ids if i in self.tasks}

    def get_input(self, task_id: str) -> str | None:
        return self._inputs.get(task_id)

    def keep_input(self, task: Task, deadline_at: int) -> bool:
        del deadline_at  # nothing here goes by itself
        return task.id in self._inputs and (not task.follow_ups or task.id in self._then)

    def get_then(self, task_id: str) -> str | None:
        return self._then.get(task_id)

    def callback_body(self, task_id: str, generation: int, body: str) -> str:
        with self.lock:
            return self._bodies.setdefault((task_id, generation), body)

    def list_by_owner(self, owner: Owner, limit: int, start: str | None = None) -> Page[Task]:
        with self.lock:
            mine = [t for t in self.tasks.values() if t.owner == owner]
        mine = sorted(mine, key=lambda t: t.id, reverse=True)
        rows = [t for t in mine if start is None or t.id < start]
        more = len(rows) > limit
        return Page(rows[:limit], rows[limit - 1].id if more else None)

    def due(self, shard: int, until: int, limit: int, start: str | None = None) -> Page[Due]:
        return self._clocks(shard, until, limit, start, ended=False)

    def owed(self, shard: int, until: int, limit: int, start: str | None = None) -> Page[Due]:
        return self._clocks(shard, until, limit, start, ended=True)

    def _clocks(
        self, shard: int, until: int, limit: int, start: str | None, *, ended: bool
    ) -> Page[Due]:
        with self.lock:
            live = [t for t in self.tasks.values() if t.state.ended == ended]
        rows = sorted(
            (t.due_at, t.id)
            for t in live
            if t.due_at is not None
            and t.due_at <= until
            and shard_of(t.id, self._clock_shards) == shard
        )
        rest = [r for r in rows if start is None or f"{r[0]:015d} {r[1]}" > start]
        page = [Due(task_id, at) for at, task_id in rest[:limit]]
        last = f"{page[-1].due_at:015d} {page[-1].task_id}" if len(rest) > limit else None
        return Page(page, last)

    def problems(self, day: str, shard: int, limit: int, start: str | None = None) -> Page[Problem]:
        with self.lock:
            rows = sorted(
                (
                    (t.ended_at, t.id)
                    for t in self.tasks.values()
                    if t.ended_at is not None
                    and t.state in (State.FAILED, State.TIMED_OUT)
                    and _utc_day(t.ended_at) == day
                    and shard_of(t.id, PROBLEM_SHARDS) == shard
                ),
                reverse=True,
            )
        rest = [r for r in rows if start is None or f"{r[0]:015d} {r[1]}" < start]
        page = [Problem(task_id, at) for at, task_id in rest[:limit]]
        last = f"{page[-1].ended_at:015d} {page[-1].task_id}" if len(rest) > limit else None
        return Page(page, last)

    def ledger(self, owner: Owner) -> Ledger:
        with self.lock:
            shards = [books for (whose, _), books in self.books.items() if whose == owner]
        sums = {name: sum(getattr(books, name) for books in shards) for name in COUNTS}
        return Ledger(frozenset().union(*(books.active for books in shards)), **sums)

    def pending(self, owner: Owner) -> Mapping[int, int]:
        with self.lock:
            return {n: len(b.active) for (whose, n), b in self.books.items() if whose == owner}

    def book(self, owner: Owner, shard: int) -> Ledger:
        """One shard of the owner's ledger."""
        return self.books.get((owner, shard), Ledger())

    def find_replay(self, owner: Owner, key: str) -> Replay | None:
        record = self._idempotency.get((owner, key))
        if record is None or record.key.expires_at <= self._now() // 1000:
            return None
        return Replay(record.task_id, record.key.fingerprint)

    def _require_place(self, submission: Submission) -> None:
        task = submission.task
        active = self.book(task.owner, task.ledger_shard).active
        if not task.state.ended and len(active) >= submission.room:
            raise TooManyPendingTasks

    def _enter(self, submission: Submission) -> None:
        """All that one submit puts on record, its ledger's entry included."""
        task, key = submission.task, submission.idempotency
        self.salvages.take(submission, self._now() // 1000)
        self.tasks[task.id] = task
        self._inputs[task.id] = submission.input
        if submission.then is not None:
            self._then[task.id] = submission.then
        if key:
            self._idempotency[task.owner, key.key] = _Record(key, task.id)
        self._book_submit(task)

    def _book_submit(self, task: Task) -> None:
        """One that has ended as it is entered is never active."""
        books, ended = self.book(task.owner, task.ledger_shard), task.state.ended
        counted = {str(task.state): getattr(books, task.state) + 1} if ended else {}
        self.books[task.owner, task.ledger_shard] = replace(
            books,
            active=books.active if ended else books.active | {task.id},
            submitted=books.submitted + 1,
            **counted,
        )

    def _quiet(self, task: Task, change: Change) -> bool:
        guard: PulseGuard | None = change.guard.pulse
        pulse = self._pulses.get(task.id)
        if guard is None or pulse is None or pulse.attempt != guard.attempt:
            return True
        return pulse.beat_at < guard.before

    def _require_room(self, move: LedgerMove | None) -> None:
        room = move.room if move else None
        if move and room is not None and len(self.book(move.owner, move.shard).active) >= room:
            raise TooManyPendingTasks

    def _book(self, task_id: str, move: LedgerMove) -> None:
        books = self.book(move.owner, move.shard)
        sign = -1 if move.reopened else 1
        active = books.active | {task_id} if move.reopened else books.active - {task_id}
        counts = {move.counter.value: getattr(books, move.counter.value) + sign}
        self.books[move.owner, move.shard] = replace(
            books,
            active=active,
            wait_ms=books.wait_ms + sign * move.wait_ms,
            run_ms=books.run_ms + sign * move.run_ms,
            **counts,
        )


def _utc_day(at: int) -> str:
    return time.strftime("%Y-%m-%d", time.gmtime(at / 1000))
