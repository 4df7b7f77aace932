"""Lambda's reader of a table's stream, as far as a handler can tell: what the emulator leaves out.

The emulator hands each batch over once, whatever comes of it. Lambda reads on from the first record
that a handler names, halves a batch that broke, tries again a number of times, and then drops what
still fails, so that the shard goes on.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

Record = Mapping[str, Any]
Handler = Callable[[dict[str, Any]], Mapping[str, Any] | None]


@dataclass
class StreamReader:
    """One shard's reader: in order, partial answers heeded, broken batches halved."""

    handler: Handler
    retries: int
    batch: int = 100
    bisect: bool = True
    dropped: list[Record] = field(default_factory=list)
    """What was given up after its retries: the clock has to bring it."""
    invocations: int = 0

    def read(self, records: Sequence[Record]) -> None:
        """Read the shard to its end."""
        for start in range(0, len(records), self.batch):
            self._deliver(list(records[start : start + self.batch]), self.retries)

    def _deliver(self, records: list[Record], retries: int) -> None:
        while records:
            left = self._left(records)
            if not left:
                return
            if len(left) < len(records):
                # The checkpoint moved on: what follows is a batch of its own.
                records, retries = left, self.retries
                continue
            if self.bisect and len(records) > 1:
                half = len(records) // 2
                self._deliver(records[:half], retries)
                records = records[half:]
                continue
            if retries == 0:
                self.dropped += records
                return
            retries -= 1

    def _left(self, records: list[Record]) -> list[Record]:
        """What must come again: all of it when the handler broke, else from the first it names."""
        self.invocations += 1
        try:
            answer = self.handler({"Records": records}) or {}
        except Exception:  # noqa: BLE001 - Lambda does not ask which
            return records
        named = [failure["itemIdentifier"] for failure in answer.get("batchItemFailures", [])]
        numbers = [record["dynamodb"]["SequenceNumber"] for record in records]
        if not named:
            return []
        return records[min(numbers.index(name) for name in named) :]
