"""The roster on the `ephemeral` table: an item for each worker, and for each pool the set of its ids.

The table has no index and must not be scanned: the sets say which items to read.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Final

from taskgate.aws.clients import available
from taskgate.aws.expressions import Names
from taskgate.aws.values import Item, Value, int_of, n, s, text_of
from taskgate.errors import Unavailable
from taskgate.roster import KEPT_SECONDS, MOST_LISTED, Sign, WorkerState

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

LIST_KEPT_SECONDS: Final = 30 * 86_400
A_BATCH: Final = 100
TRIES: Final = 5


class DynamoRoster:
    """The `Roster` port."""

    def __init__(self, client: DynamoDBClient, *, table: str, now: Callable[[], int]) -> None:
        self._client, self._table, self._now = client, table, now

    def report(self, sign: Sign) -> None:
        names = Names()
        values = _encoded(sign) | {"expires_at": n(self._now() // 1000 + KEPT_SECONDS)}
        absent = [name for name in _OPTIONAL if name not in values]
        sets = ", ".join(f"{names.name(a)} = {names.value(v)}" for a, v in values.items())
        removes = ", ".join(map(names.name, absent))
        self._update(_worker_pk(sign.worker), f"SET {sets}", removes, names)

    def join(self, pool: str, worker: str) -> None:
        names = Names()
        kept = n(self._now() // 1000 + LIST_KEPT_SECONDS)
        update = (
            f"SET {names.name('expires_at')} = {names.value(kept)}"
            f" ADD {names.name('workers')} {names.value({'SS': [worker]})}"
        )
        ids = _ids(self._update(_pool_pk(pool), update, "", names))
        others = [i for i in ids if i != worker][:A_BATCH]
        here = {sign.worker for sign in self._signs(others)}
        self._strike(pool, [i for i in others if i not in here])

    def leave(self, sign: Sign) -> None:
        self._strike(sign.pool, [sign.worker])
        names = Names()
        expired = f"SET {names.name('expires_at')} = {names.value(n(self._now() // 1000 - 1))}"
        self._update(_worker_pk(sign.worker), expired, "", names)

    def present(self, pools: Iterable[str]) -> Sequence[Sign]:
        lists = self._read([_pool_pk(pool) for pool in pools])
        ids = sorted({worker for item in lists for worker in _ids(item)})
        return self._signs(ids[:MOST_LISTED])

    def _strike(self, pool: str, workers: Sequence[str]) -> None:
        if not workers:
            return
        names = Names()
        gone = names.value({"SS": list(workers)})
        self._update(_pool_pk(pool), f"DELETE {names.name('workers')} {gone}", "", names)

    def _signs(self, workers: Sequence[str]) -> list[Sign]:
        items = self._read([_worker_pk(worker) for worker in workers])
        now = self._now() // 1000
        return sorted(
            (_decoded(item) for item in items if int_of(item, "expires_at") > now),
            key=lambda sign: (sign.pool, sign.worker),
        )

    def _update(self, pk: str, update: str, removes: str, names: Names) -> Item:
        with available():
            answer = self._client.update_item(
                TableName=self._table,
                Key={"pk": s(pk)},
                UpdateExpression=update + (f" REMOVE {removes}" if removes else ""),
                ReturnValues="ALL_NEW",
                **names.arguments(),
            )
        return answer.get("Attributes", {})

    def _read(self, keys: Sequence[str]) -> list[Item]:
        return [item for part in _parts(keys) for item in self._batch(part)]

    def _batch(self, keys: Sequence[str]) -> Iterator[Item]:
        wanted: Any = {self._table: {"Keys": [{"pk": s(key)} for key in keys]}}
        for attempt in range(TRIES):
            if attempt:
                time.sleep(0.05 * 2**attempt)
            with available():
                answer = self._client.batch_get_item(RequestItems=wanted)
            yield from answer.get("Responses", {}).get(self._table, [])
            wanted = answer.get("UnprocessedKeys")
            if not wanted:
                return
        raise Unavailable("The table left reads undone.")


_OPTIONAL: Final = ("task", "type", "attempt", "gpu", "gpu_mib")


def _worker_pk(worker: str) -> str:
    return f"WORKER#{worker}"


def _pool_pk(pool: str) -> str:
    return f"WORKERS#{pool}"


def _parts(keys: Sequence[str]) -> Iterator[Sequence[str]]:
    return (keys[at : at + A_BATCH] for at in range(0, len(keys), A_BATCH))


def _ids(item: Item) -> list[str]:
    return list(item["workers"]["SS"]) if "workers" in item else []


def _encoded(sign: Sign) -> dict[str, Value]:
    texts = {"pool": sign.pool, "version": sign.version, "state": sign.state.value}
    texts |= {"task": sign.task_id or "", "type": sign.task_type or "", "gpu": sign.gpu or ""}
    numbers = {"started_at": sign.started_at, "beat_at": sign.beat_at}
    some = {"attempt": sign.attempt, "gpu_mib": sign.gpu_memory_mib}
    return {
        **{name: s(text) for name, text in texts.items() if text},
        **{name: n(number) for name, number in numbers.items()},
        **{name: n(number) for name, number in some.items() if number is not None},
    }


def _decoded(item: Item) -> Sign:
    return Sign(
        worker=text_of(item, "pk").removeprefix("WORKER#"),
        pool=text_of(item, "pool"),
        version=text_of(item, "version"),
        state=WorkerState(text_of(item, "state")),
        started_at=int_of(item, "started_at"),
        beat_at=int_of(item, "beat_at"),
        task_id=text_of(item, "task") or None,
        task_type=text_of(item, "type") or None,
        attempt=int_of(item, "attempt") if "attempt" in item else None,
        gpu=text_of(item, "gpu") or None,
        gpu_memory_mib=int_of(item, "gpu_mib") if "gpu_mib" in item else None,
    )
