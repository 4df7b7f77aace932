"""What operators need beside `Ports`: the books and records as they stand, and a place for letters.

Apart from `ports`, since no request and no worker may read across users.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Protocol

from taskgate.ports import Ledger, Page
from taskgate.task import Owner, Task

SNAPSHOT_MOST: Final = 90
"""Tasks beside their book in one snapshot: a transaction reads at most 100 items."""


@dataclass(frozen=True, slots=True)
class Book:
    """One shard of one user's ledger: the unit that a transaction moves."""

    owner: Owner
    shard: int
    ledger: Ledger


@dataclass(frozen=True, slots=True)
class Record:
    """A task on record. `listed` says that the indexes hold it where the task itself implies."""

    task: Task
    listed: bool = True


@dataclass(frozen=True, slots=True)
class Unreadable:
    """A record that cannot be understood: its key and why."""

    key: str
    why: str


Row = Record | Book | Unreadable
Tasks = Mapping[str, Task | None]
"""Tasks by id. One that is on record but cannot be read is None; one that is not is absent."""


class Audit(Protocol):
    """Everything on record, for one who checks it. Reads are consistent and bounded in rate."""

    def rows(self, segment: int, segments: int, start: str | None = None) -> Page[Row]:
        """A page of a segment of the whole table; pages may be empty before the last."""
        ...

    def record(self, task_id: str) -> Record | None: ...

    def snapshot(self, owner: Owner, shard: int, ids: Sequence[str]) -> tuple[Book, Tasks]:
        """A book and up to `SNAPSHOT_MOST` tasks, all as of one moment."""
        ...

    def mend_book(self, book: Book, ledger: Ledger) -> bool:
        """Write `ledger` if the book still holds what was read; False when it has moved."""
        ...


@dataclass(frozen=True, slots=True)
class Footprint:
    """What tells of an attempt beside its record: a pulse, or an object in the bucket."""

    task_id: str
    attempt: int
    tenant: str = ""
    """Empty when it does not say."""


class Footprints(Protocol):
    """What a restore of the records leaves as it was: newer than they are."""

    def pulses(self) -> Iterator[Footprint]:
        """Of every attempt that has beaten lately."""
        ...

    def results(self, since: str) -> Iterator[Footprint]:
        """Of the stored results of tasks with an id from `since` on."""
        ...

    def forget(self, footprint: Footprint) -> None:
        """Drop the pulse of that very attempt: nobody will beat for it."""
        ...


class Archive(Protocol):
    """Where dead letters are kept."""

    def keep(self, key: str, text: str) -> None:
        """Keep a text; one that is kept already under the key stays as it is."""
        ...
