"""Reconcile: prove that every task is accounted for, and repair what is not.

First a walk over all records, page by page; whatever looks wrong is only a suspicion, since tasks
move meanwhile. Then each suspicion is looked at again as of one moment, and only what still does not
hold is a difference. A repair is a guarded write on what that look saw, so it can never undo a move.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final

from taskgate.books import SNAPSHOT_MOST, Audit, Book, Record, Row, Unreadable
from taskgate.errors import Refused, Unavailable
from taskgate.events import event, swallowed
from taskgate.gateway.office.soundness import (
    Flaw,
    Kind,
    flaws_of,
    flaws_of_book,
    mended,
    missing_entry,
    suspects_of,
)
from taskgate.gateway.stamps import stamp
from taskgate.lifecycle import change
from taskgate.lifecycle.states import HELD
from taskgate.lifecycle.verdict import silent
from taskgate.ports import Ports
from taskgate.task import Owner, Task

ACTOR: Final = "reconcile"
TRIES: Final = 5
MOST_SUSPECTS: Final = 1000
"""In one run; with more than that, repairing them is a matter of several runs."""
REPAIRED: Final = "repaired"
DRY_RUN: Final = "left: dry run"


@dataclass(frozen=True, slots=True)
class Difference:
    """What does not hold, whose it is, and what became of it."""

    flaw: Flaw
    owner: str
    outcome: str = DRY_RUN


@dataclass
class Report:
    """What one run saw."""

    tasks: int = 0
    books: int = 0
    differences: list[Difference] = field(default_factory=list)
    finished: bool = True
    """False when not every record was looked at."""
    broke_off: bool = False
    """Whether that was for a table that could not answer, and not for want of time."""

    @property
    def unaccounted(self) -> int:
        """How many tasks the differences leave unaccounted for; 0 proves the promise."""
        return sum(d.flaw.amount for d in self.differences)

    @property
    def repaired(self) -> int:
        return sum(d.outcome == REPAIRED for d in self.differences)

    @property
    def left(self) -> int:
        return len(self.differences) - self.repaired


def reconcile(
    ports: Ports, audit: Audit, *, apply: bool, segments: Sequence[int], of: int, stop_at: int
) -> Report:
    """Look at these segments out of `of`, until `stop_at` (epoch ms); repair with `apply`."""
    run = _Run(ports, audit, apply=apply, stop_at=stop_at)
    try:
        run.walk(segments, of)
        run.look_again()
    except Unavailable as error:
        # What was seen so far is told; a proof that broke off is none.
        swallowed("reconcile_broke_off", error)
        run.report.finished, run.report.broke_off = False, True
    report = run.report
    event(
        "reconciled",
        tasks=report.tasks,
        books=report.books,
        differences=len(report.differences),
        unaccounted=report.unaccounted,
        repaired=report.repaired,
        finished=report.finished,
        ran=None if report.broke_off else 1,
    )
    return report


class _Run:
    def __init__(self, ports: Ports, audit: Audit, *, apply: bool, stop_at: int) -> None:
        self._ports, self._audit, self._apply, self._stop_at = ports, audit, apply, stop_at
        self.report = Report()
        self._tasks: set[str] = set()
        self._books: dict[tuple[Owner, int], set[str]] = defaultdict(set)

    def walk(self, segments: Sequence[int], of: int) -> None:
        for segment in segments:
            start: str | None = None
            while True:
                if self._is_over():
                    self.report.finished = False
                    return
                page = self._audit.rows(segment, of, start)
                self._suspect(page.rows)
                start = page.next
                if start is None:
                    break

    def look_again(self) -> None:
        """Every suspicion, as of one moment: what still does not hold is a difference."""
        for task_id in sorted(self._tasks):
            self._look_at_task(task_id)
        for (owner, shard), ids in sorted(self._books.items()):
            parts = list(_parts(sorted(ids)))
            for part in parts:
                # The sum is judged once, when all that is known to be wrong has been set right.
                self._look_at_book(owner, shard, part, whole=part is parts[-1])

    def _is_over(self) -> bool:
        suspects = len(self._tasks) + sum(map(len, self._books.values()))
        return self._ports.now() >= self._stop_at or suspects >= MOST_SUSPECTS

    def _suspect(self, rows: Sequence[Row]) -> None:
        live: dict[tuple[Owner, int], list[str]] = defaultdict(list)
        for row in rows:
            match row:
                case Record(task):
                    self._suspect_task(row)
                    if not task.state.ended:
                        live[task.owner, task.ledger_shard].append(task.id)
                case Book():
                    self._suspect_book(row)
                case Unreadable(key, why):
                    flaw = Flaw(Kind.UNREADABLE, why, "a record", key)
                    self._tell(flaw, "", "left: by hand")
        for (owner, shard), ids in live.items():
            self._suspect_places(owner, shard, ids)

    def _suspect_task(self, record: Record) -> None:
        self.report.tasks += 1
        if any(flaws_of(record)):
            self._tasks.add(record.task.id)

    def _suspect_book(self, book: Book) -> None:
        self.report.books += 1
        if not book.ledger.balanced:
            self._books[book.owner, book.shard] |= set()
        self._suspect_places(book.owner, book.shard, sorted(book.ledger.active))

    def _suspect_places(self, owner: Owner, shard: int, ids: Sequence[str]) -> None:
        for part in _parts(ids) if ids else ():
            book, tasks = self._audit.snapshot(owner, shard, part)
            if suspects := suspects_of(book, part, tasks):
                self._books[owner, shard] |= suspects

    def _look_at_task(self, task_id: str) -> None:
        record = self._audit.record(task_id)
        flaws = list(flaws_of(record)) if record else []
        if record is None or not flaws:
            return
        outcome = self._mend_task(record.task) if self._apply else None
        for flaw in flaws:
            self._tell(flaw, str(record.task.owner), outcome)

    def _mend_task(self, task: Task) -> str:
        if self._works(task):
            return "left: its worker is alive"
        made = stamp(self._ports.now(), ACTOR, "the record did not agree with itself")
        try:
            self._ports.tasks.apply(change.mended(task, made, missing_entry(task)))
        except Refused:
            return "left: it moved meanwhile"
        except Unavailable as error:
            swallowed("mend_failed", error, task=task.id)
            return "left: the table was busy"
        return REPAIRED

    def _works(self, task: Task) -> bool:
        if task.state not in HELD:
            return False
        pulse = self._ports.pulses.get(task.id)
        beat_at = pulse.beat_at if pulse and pulse.attempt == task.attempt else None
        return not silent(task, beat_at, self._ports.now())

    def _look_at_book(self, owner: Owner, shard: int, ids: Sequence[str], *, whole: bool) -> None:
        for _ in range(TRIES):
            book, tasks = self._audit.snapshot(owner, shard, ids)
            suspects = suspects_of(book, ids, tasks)
            flaws = list(flaws_of_book(book, suspects, tasks, whole=whole))
            if not flaws or not self._apply:
                break
            if self._audit.mend_book(book, mended(book, suspects, tasks, whole=whole)):
                self._tell_all(flaws, owner, REPAIRED)
                return
        self._tell_all(flaws, owner, "left: the books kept moving" if self._apply else None)

    def _tell_all(self, flaws: Sequence[Flaw], owner: Owner, outcome: str | None) -> None:
        for flaw in flaws:
            self._tell(flaw, str(owner), outcome)

    def _tell(self, flaw: Flaw, owner: str, outcome: str | None) -> None:
        difference = Difference(flaw, owner, outcome or DRY_RUN)
        self.report.differences.append(difference)
        event(
            "difference",
            kind=flaw.kind,
            task=flaw.task_id,
            found=flaw.found,
            expected=flaw.expected,
            outcome=difference.outcome,
        )


def _parts(ids: Sequence[str]) -> Iterator[Sequence[str]]:
    """At least one, so that a book without suspects is looked at for its sum."""
    for begin in range(0, max(1, len(ids)), SNAPSHOT_MOST):
        yield ids[begin : begin + SNAPSHOT_MOST]
