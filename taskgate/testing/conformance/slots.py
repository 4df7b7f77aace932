"""What every store of slots must do. Subclass it, give it `slots`, and pytest runs the promises."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest

from taskgate.slots import Slot, Slots

KEY = "SLOTS#tenant#acme"


class SlotsConformance:
    """Promises of `Slots`."""

    @pytest.fixture
    def slots(self) -> Slots:
        """An empty store."""
        raise NotImplementedError

    def test_no_more_slots_are_held_than_there_are(self, slots: Slots) -> None:
        assert slots.take(KEY, "task_1", Slot(1, 10), 2) is None
        assert slots.take(KEY, "task_2", Slot(3, 20), 2) is None
        held = {"task_1": Slot(1, 10), "task_2": Slot(3, 20)}
        assert slots.take(KEY, "task_3", Slot(1, 30), 2) == held
        assert slots.take("SLOTS#tenant#other", "task_3", Slot(1, 30), 2) is None

    def test_a_task_never_holds_two_slots(self, slots: Slots) -> None:
        assert slots.take(KEY, "task_1", Slot(1, 10), 1) is None
        assert slots.take(KEY, "task_1", Slot(2, 20), 1) is None
        assert slots.take(KEY, "task_2", Slot(1, 30), 1) == {"task_1": Slot(2, 20)}

    def test_a_slot_is_freed_only_as_it_is_held(self, slots: Slots) -> None:
        slots.take(KEY, "task_1", Slot(2, 20), 2)
        slots.take(KEY, "task_2", Slot(1, 20), 2)
        assert not slots.free(KEY, {"task_1": Slot(1, 10), "task_2": Slot(1, 20)})
        assert not slots.free(KEY, {"task_9": Slot(1, 10)})
        assert len(slots.take(KEY, "task_3", Slot(1, 1), 2) or ()) == 2
        assert slots.free(KEY, {"task_1": Slot(2, 20), "task_2": Slot(1, 20)})
        assert not slots.free(KEY, {"task_1": Slot(2, 20)})
        assert slots.take(KEY, "task_3", Slot(1, 30), 1) is None

    def test_of_many_at_once_exactly_as_many_get_a_slot_as_there_are(self, slots: Slots) -> None:
        def take(number: int) -> bool:
            return slots.take(KEY, f"task_{number}", Slot(1, number), 3) is None

        with ThreadPoolExecutor(8) as pool:
            assert sum(pool.map(take, range(20))) == 3
