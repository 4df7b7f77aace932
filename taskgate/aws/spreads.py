"""The spreads on the `ephemeral` table: an item for each type, lane and UTC day."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from taskgate.aws.clients import available
from taskgate.aws.expressions import Names
from taskgate.aws.values import Item, int_of, n, s
from taskgate.spreads import DAY_MS, Spans, Spread

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

KEPT_SECONDS: Final = 3 * 86_400
_WAIT, _RUN = "w", "r"


class DynamoSpreads:
    """The `Spreads` port."""

    def __init__(self, client: DynamoDBClient, *, table: str, now: Callable[[], int]) -> None:
        self._client, self._table, self._now = client, table, now

    def add(self, kind: str, lane: str, spans: Spans) -> None:
        names = Names()
        counted = [(_WAIT, spans.waits), (_RUN, spans.runs)]
        adds = [
            f"{names.name(f'{letter}{bucket}')} {names.value(n(count))}"
            for letter, spread in counted
            for bucket, count in spread.counts.items()
        ]
        if not adds:
            return
        expires = names.value(n(self._now() // 1000 + KEPT_SECONDS))
        with available():
            self._client.update_item(
                TableName=self._table,
                Key={"pk": s(self._pk(kind, lane, 0))},
                UpdateExpression=f"SET {names.name('expires_at')} = {expires} ADD "
                + ", ".join(adds),
                **names.arguments(),
            )

    def lately(self, kind: str, lane: str) -> Spans:
        keys = [{"pk": s(self._pk(kind, lane, back))} for back in (0, 1)]
        with available():
            answer = self._client.batch_get_item(RequestItems={self._table: {"Keys": keys}})
        # What a busy table left out is missing from an estimate, and no more than that.
        items = answer.get("Responses", {}).get(self._table, [])
        return sum(map(_spans, items), Spans())

    def _pk(self, kind: str, lane: str, back: int) -> str:
        return f"SPREAD#{kind}#{lane}#{self._now() // DAY_MS - back}"


def _spans(item: Item) -> Spans:
    return Spans(_spread(item, _WAIT), _spread(item, _RUN))


def _spread(item: Item, letter: str) -> Spread:
    named = (name for name in item if name[0] == letter and name[1:].isdecimal())
    return Spread({int(name[1:]): int_of(item, name) for name in named})
