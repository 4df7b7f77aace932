"""What must hold of every record and of every book at every moment. Pure.

A `Flaw` names what does not hold, with both values side by side.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass, replace
from enum import StrEnum

from taskgate.books import Book, Record, Tasks
from taskgate.lifecycle import clock
from taskgate.lifecycle.states import ENDED, RULES, STAYING, State, Verb
from taskgate.ports import Ledger
from taskgate.task import Task


class Kind(StrEnum):
    """What is wrong."""

    NO_CLOCK = "no_clock"
    LATE_CLOCK = "late_clock"
    NEEDLESS_CLOCK = "needless_clock"
    UNLISTED = "not_where_the_indexes_look"
    UNTOLD = "history_does_not_tell_the_state"
    WRONG_END = "wrong_ended_at"
    UNREADABLE = "unreadable"
    LIVE_NOT_ACTIVE = "live_but_not_in_the_books"
    ACTIVE_NOT_LIVE = "in_the_books_but_not_live"
    UNBALANCED = "books_do_not_balance"


@dataclass(frozen=True, slots=True)
class Flaw:
    """One thing that does not hold: what is there, and what should be."""

    kind: Kind
    found: str
    expected: str
    task_id: str | None = None
    amount: int = 1
    """How many tasks it leaves unaccounted for."""


def flaws_of(record: Record) -> Iterator[Flaw]:
    """What does not hold of a task by itself."""
    task = record.task
    if not clock.sound(task):
        yield _clock_flaw(task)
    elif not record.listed:
        yield Flaw(Kind.UNLISTED, "index attributes differ", "as the task implies", task.id)
    last = task.history[-1].to if task.history else None
    if last is not task.state:
        yield Flaw(Kind.UNTOLD, f"last entry leads to {last}", f"to {task.state}", task.id)
    if task.state.ended != (task.ended_at is not None):
        wanted = "a time" if task.state.ended else "none while it lives"
        yield Flaw(Kind.WRONG_END, f"ended_at {task.ended_at}", wanted, task.id)


def missing_entry(task: Task) -> Verb | None:
    """The verb that must have led to the present state, when the history does not tell it."""
    last = task.history[-1].to if task.history else None
    if last is task.state:
        return None
    leading = [
        verb for verb, rule in RULES.items() if task.state in rule.targets and verb not in STAYING
    ]
    direct = [verb for verb in leading if last in RULES[verb].sources]
    return (direct or leading)[0]


def suspects_of(book: Book, ids: Collection[str], tasks: Tasks) -> set[str]:
    """Of these ids, those whose place in the book does not fit their task.

    A task that cannot be read is none of them: it must not lose its place for that.
    """
    readable = (i for i in ids if i not in tasks or tasks[i] is not None)
    return {i for i in readable if (i in book.ledger.active) != _lives(book, tasks.get(i))}


def flaws_of_book(
    book: Book, suspects: set[str], tasks: Tasks, *, whole: bool = True
) -> Iterator[Flaw]:
    """What does not hold of a book: of these suspects and, if these are all, of its sum."""
    for task_id in sorted(suspects):
        task = tasks.get(task_id)
        state = task.state if task else "not on record"
        if task_id in book.ledger.active:
            yield Flaw(Kind.ACTIVE_NOT_LIVE, f"active, but {state}", "not active", task_id)
        else:
            yield Flaw(Kind.LIVE_NOT_ACTIVE, f"{state}, but not active", "active", task_id)
    over = _over(_settled(book.ledger, suspects, tasks))
    if over and whole:
        books = book.ledger
        sums = f"active {len(books.active)} + ended {books.ended}"
        yield Flaw(Kind.UNBALANCED, f"submitted {books.submitted}", sums, amount=abs(over))


def mended(book: Book, suspects: set[str], tasks: Tasks, *, whole: bool = True) -> Ledger:
    """The book as it must be: each suspect where its task says, then the sum made to fit.

    An end that was never counted is counted, and a count of an end that was undone is taken back.
    What then is left of the difference can only be in `submitted`, which nothing else proves.
    """
    books = _settled(book.ledger, suspects, tasks)
    return replace(books, submitted=books.submitted - _over(books)) if whole else books


def _settled(books: Ledger, suspects: set[str], tasks: Tasks) -> Ledger:
    books = replace(books, active=books.active ^ suspects)
    for task_id in sorted(suspects):
        task, over = tasks.get(task_id), _over(books)
        if task is None:
            continue
        if over > 0 and task.state.ended:
            books = _counted(books, task.state, 1)
        elif over < 0 and (undone := _last_end(task)):
            books = _counted(books, undone, -1)
    return books


def _counted(books: Ledger, state: State, by: int) -> Ledger:
    counts = {state.value: max(0, getattr(books, state.value) + by)}
    return replace(books, **counts)


def _last_end(task: Task) -> State | None:
    """The end from which a live task was reopened."""
    if task.state.ended or not task.generation:
        return None
    return next((e.to for e in reversed(task.history) if e.to in ENDED), None)


def _over(books: Ledger) -> int:
    return books.submitted - len(books.active) - books.ended


def _lives(book: Book, task: Task | None) -> bool:
    if task is None or task.state.ended:
        return False
    return (task.owner, task.ledger_shard) == (book.owner, book.shard)


def _clock_flaw(task: Task) -> Flaw:
    rule = clock.due(task)
    if rule is None:
        return Flaw(Kind.NEEDLESS_CLOCK, f"due_at {task.due_at}", "none: it is settled", task.id)
    if task.due_at is None:
        return Flaw(Kind.NO_CLOCK, f"{task.state} without a clock", f"due_at {rule}", task.id)
    bound = task.deadline_at + task.limits.lease
    return Flaw(Kind.LATE_CLOCK, f"due_at {task.due_at}", f"at most {bound}", task.id)
