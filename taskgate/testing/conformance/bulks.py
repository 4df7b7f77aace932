"""What every store of bulk acts must do. Subclass it, give it `store`, and pytest runs the promises."""

from __future__ import annotations

from dataclasses import replace

import pytest

from taskgate.bulks import Bulk, BulkAct, BulkState, BulkStore, Wanted
from taskgate.lifecycle.retry import ErrorCode
from taskgate.lifecycle.states import State
from taskgate.task import CallbackState, Owner

PLAN = Bulk(
    id="bulk_1",
    act=BulkAct.REOPEN,
    wanted=Wanted(
        tenant="acme",
        states=frozenset({State.FAILED, State.TIMED_OUT}),
        code=ErrorCode.POISON,
        day="2026-11-29",
        callback=CallbackState.GIVEN_UP,
    ),
    operator=Owner("taskgate", "olga"),
    key_id="aws",
    reason="é",
    secret="s",  # noqa: S106 - a fixture
    planned_at=1_790_000_000_000,
    bounded_to="acme",
)
RUNNING = replace(
    PLAN,
    state=BulkState.RUNNING,
    due_at=5,
    position=(3, "9 task_1"),
    failed={"it is queued": 2},
    refused={"it is queued": ["task_1", "task_2"]},
)


class BulksConformance:
    """Promises of `BulkStore`."""

    @pytest.fixture
    def store(self) -> BulkStore:
        """An empty store."""
        raise NotImplementedError

    @pytest.mark.parametrize("bulk", [PLAN, RUNNING], ids=["planned", "running"])
    def test_it_reads_back_as_it_was_written(self, store: BulkStore, bulk: Bulk) -> None:
        assert store.get_bulk(bulk.id) is None
        assert store.write_bulk(bulk)
        assert store.get_bulk(bulk.id) == replace(bulk, version=1)

    def test_of_two_writes_over_one_version_only_the_first_is_made(self, store: BulkStore) -> None:
        assert store.write_bulk(PLAN)
        assert not store.write_bulk(RUNNING)
        assert store.write_bulk(replace(RUNNING, version=1))
        assert not store.write_bulk(replace(PLAN, version=1))
        assert store.get_bulk(PLAN.id) == replace(RUNNING, version=2)

    def test_all_are_listed_the_latest_first_page_by_page(self, store: BulkStore) -> None:
        ids = [f"bulk_{number:026}" for number in range(25)]
        for bulk_id in ids:
            store.write_bulk(replace(PLAN, id=bulk_id))
        store.write_bulk(replace(RUNNING, id=ids[0], version=1))
        first = store.list_bulks()
        assert [bulk.id for bulk in first.rows] == ids[:4:-1]
        assert first.rows[0] == replace(PLAN, id=ids[-1], version=1)
        rest = store.list_bulks(first.next)
        assert [bulk.id for bulk in rest.rows] == ids[4::-1]
        assert (rest.rows[-1].state, rest.next) == (BulkState.RUNNING, None)

    def test_only_what_runs_is_due_and_not_before_its_time(self, store: BulkStore) -> None:
        store.write_bulk(replace(PLAN, id="bulk_planned"))
        store.write_bulk(RUNNING)
        store.write_bulk(replace(RUNNING, id="bulk_2", due_at=3))
        assert list(store.due_bulks(4)) == ["bulk_2"]
        assert list(store.due_bulks(5)) == ["bulk_2", "bulk_1"]
        store.write_bulk(replace(RUNNING, state=BulkState.DONE, due_at=None, version=1))
        assert list(store.due_bulks(5)) == ["bulk_2"]
