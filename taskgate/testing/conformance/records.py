"""What is on record reads back as it was written."""

from __future__ import annotations

from dataclasses import replace

import pytest

from taskgate.lifecycle.retry import ErrorCode
from taskgate.lifecycle.states import State
from taskgate.ports import Replay
from taskgate.task import CancelMode, CancelRequest
from taskgate.testing.conformance.world import ERROR, World, spent
from taskgate.testing.factories import task_in


class RecordsConformance:
    """What is on record reads back as it was written."""

    def test_a_new_task_reads_back_as_it_was_written(self, world: World) -> None:
        task = world.new(metadata='{"ключ":"é😀"}', error=ERROR, budgets=spent())
        assert world.ports.tasks.get(task.id) == task

    @pytest.mark.parametrize("state", list(State))
    def test_a_task_in_any_state_reads_back_whole(self, world: World, state: State) -> None:
        task = world.new(state)
        assert world.ports.tasks.get(task.id) == task

    def test_a_cancel_reads_back_with_its_handshake(self, world: World) -> None:
        request = CancelRequest(CancelMode.SOFT, ErrorCode.CANCELED_BY_USER, 5, "user:a|b", 6, 7)
        for cancel in (request, replace(request, enforced=True, seen_at=None)):
            task = world.new(State.CANCELED, cancel=cancel)
            assert world.ports.tasks.get(task.id) == task

    def test_an_unknown_id_is_none(self, world: World) -> None:
        assert world.ports.tasks.get("task_nothing") is None
        assert world.ports.tasks.get_with_pulse("task_nothing") == (None, None)
        assert world.ports.tasks.get_input("task_nothing") is None

    def test_many_are_read_by_id_and_those_that_are_not_there_are_left_out(
        self, world: World
    ) -> None:
        first, second = world.new(), world.new(State.QUEUED)
        asked = [second.id, "task_nothing", first.id, first.id]
        assert world.ports.tasks.get_many(asked) == {first.id: first, second.id: second}
        assert world.ports.tasks.get_many([]) == {}

    def test_the_input_survives_byte_for_byte(self, world: World) -> None:
        text = '{"p":"\\u0000\\u0007\uffff \U0001f469\u200d\U0001f680 \u202ertl","n":1e-7,"c":1.0}'
        task = task_in(State.CREATED, at=world.ports.now(), owner=world.owner)
        world.submit(task, text=text)
        assert world.ports.tasks.get_input(task.id) == text

    def test_an_input_is_kept_for_another_life_while_it_is_there(self, world: World) -> None:
        task = world.new()
        assert world.ports.tasks.keep_input(task, task.deadline_at + 1)
        assert world.ports.tasks.get_input(task.id) is not None
        assert not world.ports.tasks.keep_input(replace(task, id="task_nothing"), task.deadline_at)
        assert world.ports.tasks.get_input("task_nothing") is None
        # One whose follow-ups are gone is not whole, either.
        assert not world.ports.tasks.keep_input(replace(task, follow_ups=1), task.deadline_at)

    def test_what_follows_a_task_is_kept_beside_it(self, world: World) -> None:
        task = task_in(State.CREATED, at=world.ports.now(), owner=world.owner)
        assert world.submit(task, then='[{"type":"é"}]', key=world.key("k")) is None
        assert world.ports.tasks.get_then(task.id) == '[{"type":"é"}]'
        assert world.ports.tasks.get_then(world.new().id) is None
        again = task_in(State.CREATED, at=world.ports.now(), owner=world.owner)
        assert world.submit(again, then="[]", key=world.key("k")) == Replay(task.id, "m1")

    def test_the_first_bytes_of_a_callback_are_kept_for_ever(self, world: World) -> None:
        task = world.new()
        first = '{"a":1,"b":"é😀"}'
        assert world.ports.tasks.callback_body(task.id, 0, first) == first
        assert world.ports.tasks.callback_body(task.id, 0, "{}") == first
        assert world.ports.tasks.callback_body(task.id, 1, "{}") == "{}"

    def test_a_list_is_newest_first_and_pages_to_the_end(self, world: World) -> None:
        made = [world.new() for _ in range(5)]
        first = world.ports.tasks.list_by_owner(world.owner, 2)
        assert [t.id for t in first.rows] == [made[4].id, made[3].id]
        seen, start = [], None
        while True:
            page = world.ports.tasks.list_by_owner(world.owner, 2, start)
            seen += [t.id for t in page.rows]
            start = page.next
            if start is None:
                break
        assert seen == [t.id for t in reversed(made)]

    def test_a_list_may_start_at_an_id_that_is_on_no_record(self, world: World) -> None:
        made = [world.new() for _ in range(3)]
        between = made[1].id + "0"  # behind the second one, before the third
        page = world.ports.tasks.list_by_owner(world.owner, 10, between)
        assert [t.id for t in page.rows] == [made[1].id, made[0].id]
