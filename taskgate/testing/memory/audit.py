"""The audit and the archive in memory."""

from __future__ import annotations

from collections.abc import Sequence

from taskgate.books import Book, Record, Row, Tasks
from taskgate.ports import Ledger, Page
from taskgate.shards import shard_of
from taskgate.task import Owner
from taskgate.testing.memory.tasks import MemoryStore

PAGE = 50


class MemoryAudit:
    """The `Audit` over a `MemoryStore`."""

    def __init__(self, store: MemoryStore) -> None:
        self._store = store

    def rows(self, segment: int, segments: int, start: str | None = None) -> Page[Row]:
        begin = int(start or 0)
        with self._store.lock:
            everything: list[Row] = [Record(t) for t in self._store.tasks.values()]
            everything += [Book(*place, books) for place, books in self._store.books.items()]
        mine = [row for row in everything if shard_of(_key(row), segments) == segment]
        page = mine[begin : begin + PAGE]
        return Page(page, str(begin + PAGE) if begin + PAGE < len(mine) else None)

    def record(self, task_id: str) -> Record | None:
        task = self._store.tasks.get(task_id)
        return Record(task) if task else None

    def snapshot(self, owner: Owner, shard: int, ids: Sequence[str]) -> tuple[Book, Tasks]:
        with self._store.lock:
            tasks: Tasks = {i: self._store.tasks[i] for i in ids if i in self._store.tasks}
            return Book(owner, shard, self._store.book(owner, shard)), tasks

    def mend_book(self, book: Book, ledger: Ledger) -> bool:
        with self._store.lock:
            if self._store.book(book.owner, book.shard) != book.ledger:
                return False
            self._store.books[book.owner, book.shard] = ledger
            return True


class MemoryArchive:
    """Kept letters by key."""

    def __init__(self) -> None:
        self.texts: dict[str, str] = {}

    def keep(self, key: str, text: str) -> None:
        self.texts.setdefault(key, text)


def _key(row: Row) -> str:
    return row.task.id if isinstance(row, Record) else str(row)
