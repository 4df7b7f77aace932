"""What a soft-cancelled run brings is not lost: its owner's next identical submit is given it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from taskgate.catalog import CATALOG, Catalog
from taskgate.errors import Refused, TaskgateError, Unavailable
from taskgate.gateway.door import submitting
from taskgate.gateway.door.chains import Step
from taskgate.gateway.door.submitting import SubmitRequest, Submitted
from taskgate.gateway.outbox import cleaning
from taskgate.gateway.outbox.following import child_id
from taskgate.gateway.steer import steering
from taskgate.gateway.work.worker import Held, Produced
from taskgate.lifecycle.states import State
from taskgate.ports import Submission
from taskgate.principal import Principal
from taskgate.salvage import MOST_BYTES, copyable, fingerprint
from taskgate.task import CallbackState, CancelMode, Duty, Owner, ResultFile, Task
from taskgate.testing.factories import OWNER
from tests.unit.gateway.test_settling import DOWN, OK, Post, callback
from tests.unit.gateway.test_worker_gateway import BROKEN, ENVIRONMENT, WHO, claimed, gateway

INPUT = {"text": "hello"}
DAY = ENVIRONMENT.salvage_seconds


class Scene(Post):
    """One user who submits, cancels softly, and submits again."""

    def __init__(self, tmp_path: Path, catalog: Catalog = CATALOG) -> None:
        super().__init__(OK, OK, OK, OK)
        self.folder, self.catalog = tmp_path, catalog

    def submit(self, who: Principal = WHO, **fields: Any) -> Submitted:
        request = SubmitRequest(type="embed_document", **{"input": INPUT, **fields})
        return submitting.submit(self.world.ports, self.catalog, ENVIRONMENT, who, request)

    def finish(self, held: Held, text: str = "bytes") -> Task:
        path = self.folder / "out.txt"
        path.write_text(text)
        return gateway(self.world).succeed(held, [self.produced(path)], '{"n":1}')

    def produced(self, path: Path) -> Produced:
        return Produced("out.txt", str(path), "text/plain")

    def salvaged(self, **fields: Any) -> Task:
        """A run that its owner canceled softly, and that came to its end."""
        task = self.submit(**fields).task
        held = claimed(self.world)
        steering.cancel(self.world.ports, WHO, task.id, CancelMode.SOFT)
        return self.finish(held)

    def balanced(self) -> bool:
        books = self.world.tasks.ledger(OWNER)
        return books.balanced and books.active == {
            t.id for t in self.world.tasks.tasks.values() if not t.state.ended
        }


@pytest.fixture
def scene(tmp_path: Path) -> Scene:
    return Scene(tmp_path)


def test_a_soft_cancelled_runs_result_is_kept_and_not_told(scene: Scene) -> None:
    task = scene.salvaged()
    assert task.state is State.CANCELED
    assert (task.result, task.output) == ((), None)
    assert task.kept_until is not None
    assert (task.owes, task.due_at) == ((Duty.SALVAGE,), task.kept_until)
    assert scene.balanced()


def test_the_next_identical_submit_ends_at_once_with_it(scene: Scene) -> None:
    source = scene.salvaged()
    submitted = scene.submit(metadata={"try": "second"})
    task = submitted.task
    assert (task.state, task.attempt, task.reused_from) == (State.SUCCEEDED, 0, source.id)
    assert [e.verb for e in task.history] == ["submit", "reuse"]
    assert task.history[-1].reason == f"reused from {source.id}"
    (file,) = task.result
    assert file.key == f"r/acme/{task.id}/0/out.txt"
    assert scene.world.results.objects[file.key] == b"bytes"
    assert task.output == '{"n":1}'
    assert scene.task(task.id) == task
    assert scene.world.lanes.total() == 0
    books = scene.world.tasks.ledger(OWNER)
    assert (books.submitted, books.succeeded, books.canceled) == (2, 1, 1)
    assert scene.balanced()


def test_what_was_given_away_is_said_and_its_bytes_go_at_once_and_not_in_a_day(
    scene: Scene,
) -> None:
    source = scene.salvaged()
    given = scene.submit().task
    gave = scene.task(source.id)
    assert (gave.kept_until, gave.given_to) == (None, given.id)
    assert (gave.owes, gave.due_at) == ((Duty.SALVAGE,), scene.world.clock())
    assert scene.outbox.settle(source.id) == "settled_salvage"
    assert (scene.task(source.id).owes, scene.task(source.id).due_at) == ((), None)
    kept = list(scene.world.results.objects)
    assert kept == [f"r/acme/{given.id}/0/out.txt"]


def test_a_gift_that_is_noted_while_a_callback_is_due_hurries_no_callback(scene: Scene) -> None:
    source = scene.salvaged(callback=callback("task.canceled"))
    scene.letters.answers = iter([DOWN])
    assert scene.outbox.settle(source.id) == "failed"
    next_try = scene.task(source.id).owed_at
    scene.submit()
    gave = scene.task(source.id)
    assert (gave.owes, gave.owed_at) == ((Duty.CALLBACK, Duty.SALVAGE), next_try)
    scene.run()
    assert (scene.task(source.id).owes, scene.task(source.id).due_at) == ((), None)


def test_a_gift_that_cannot_be_noted_is_given_all_the_same(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = scene.salvaged()

    def away(task_id: str) -> Task | None:
        raise Unavailable

    monkeypatch.setattr(scene.world.tasks, "get", away)
    assert scene.submit().task.reused_from == source.id
    monkeypatch.undo()
    assert scene.task(source.id).given_to is None
    scene.world.clock.advance(DAY + 700)
    scene.run()
    assert scene.task(source.id).owes == ()


def test_it_is_given_once(scene: Scene) -> None:
    scene.salvaged()
    assert scene.submit().task.state is State.SUCCEEDED
    assert scene.submit().task.state is State.QUEUED
    assert scene.balanced()


@pytest.mark.parametrize(
    "different",
    [
        {"input": {"text": "hello!"}},
        {"input": {"text": "hello", "dimensions": 128}},
        {"reuse": False},
        {"start": submitting.Start(delay=60)},
    ],
)
def test_another_input_a_refusal_and_a_later_start_run_anew(
    scene: Scene, different: dict[str, Any]
) -> None:
    scene.salvaged()
    assert scene.submit(**different).task.state in {State.QUEUED, State.SCHEDULED}
    assert scene.submit().task.state is State.SUCCEEDED, "and it is still there"


def test_defaults_that_are_spelled_out_make_no_other_input(scene: Scene) -> None:
    scene.salvaged()
    given = {"input": {"dimensions": 256, "text": "hello"}}
    assert scene.submit(**given).task.state is State.SUCCEEDED


@pytest.mark.parametrize("other", [Owner("acme", "eve"), Owner("evil", "ada")])
def test_nobody_else_is_ever_given_it(scene: Scene, other: Owner) -> None:
    scene.salvaged()
    assert scene.submit(replace(WHO, owner=other)).task.state is State.QUEUED
    assert scene.submit().task.state is State.SUCCEEDED


def test_a_new_version_of_the_type_is_computed_anew(scene: Scene) -> None:
    scene.salvaged()
    newer = Catalog(tuple(replace(kind, version=2) for kind in CATALOG))
    scene.catalog = newer
    assert scene.submit().task.state is State.QUEUED


def test_a_hard_cancel_keeps_nothing_and_removes_what_was_uploaded(scene: Scene) -> None:
    task = scene.submit().task
    held = claimed(scene.world)
    steering.cancel(scene.world.ports, WHO, task.id, CancelMode.SOFT)
    steering.cancel(scene.world.ports, WHO, task.id, CancelMode.HARD)
    with pytest.raises(Refused):
        scene.finish(held)
    ended = gateway(scene.world).stopped(held)
    assert (ended.state, ended.kept_until) == (State.CANCELED, None)
    assert scene.world.results.objects
    scene.run()
    assert scene.world.results.objects == {}
    assert scene.task(task.id).due_at is None
    assert scene.submit().task.state is State.QUEUED


def test_a_cancel_that_is_made_hard_while_the_result_is_kept_wins(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    task = scene.submit().task
    held = claimed(scene.world)
    steering.cancel(scene.world.ports, WHO, task.id, CancelMode.SOFT)
    real = scene.world.pulses.get

    def then_hard(task_id: str) -> Any:
        monkeypatch.undo()
        steering.cancel(scene.world.ports, WHO, task.id, CancelMode.HARD)
        return real(task_id)

    monkeypatch.setattr(scene.world.pulses, "get", then_hard)
    ended = scene.finish(held)
    assert (ended.state, ended.kept_until) == (State.CANCELED, None)
    assert scene.submit().task.state is State.QUEUED
    assert scene.balanced()


def test_a_soft_cancelled_run_that_fails_is_canceled_and_leaves_nothing(scene: Scene) -> None:
    task = scene.submit().task
    held = claimed(scene.world)
    steering.cancel(scene.world.ports, WHO, task.id, CancelMode.SOFT)
    with pytest.raises(Refused):
        gateway(scene.world).fail(held, BROKEN)
    assert gateway(scene.world).stopped(held).kept_until is None
    assert scene.submit().task.state is State.QUEUED


def test_writing_the_end_of_a_salvaged_run_again_changes_nothing(scene: Scene) -> None:
    task = scene.submit().task
    held = claimed(scene.world)
    steering.cancel(scene.world.ports, WHO, task.id, CancelMode.SOFT)
    first = scene.finish(held)
    assert scene.finish(held) == first
    assert scene.balanced()


def test_while_the_soft_cancelled_run_goes_on_an_identical_submit_runs_by_itself(
    scene: Scene,
) -> None:
    first = scene.submit().task
    held = claimed(scene.world)
    steering.cancel(scene.world.ports, WHO, first.id, CancelMode.SOFT)
    second = scene.submit().task
    assert second.state is State.QUEUED
    scene.finish(held)
    assert scene.submit().task.reused_from == first.id
    assert scene.balanced()


def test_past_its_time_it_is_not_given_and_its_bytes_are_removed(scene: Scene) -> None:
    source = scene.salvaged()
    scene.world.clock.advance(DAY + 1)
    assert scene.submit().task.state is State.QUEUED
    scene.run(hours=1)
    assert scene.world.results.objects == {}
    assert (scene.task(source.id).owes, scene.task(source.id).due_at) == ((), None)


def test_it_is_kept_too_when_the_worker_has_read_of_the_cancel_before(scene: Scene) -> None:
    task = scene.submit().task
    held = claimed(scene.world)
    steering.cancel(scene.world.ports, WHO, task.id, CancelMode.SOFT)
    ended = scene.finish(gateway(scene.world).refresh(held))
    assert (ended.state, ended.kept_until is not None) == (State.CANCELED, True)
    assert scene.submit().task.reused_from == task.id
    assert scene.balanced()


def test_before_its_time_no_clean_up_removes_it(scene: Scene) -> None:
    task = scene.submit(callback=callback("task.canceled")).task
    gateway(scene.world, draw=0.0).fail(claimed(scene.world), BROKEN)
    scene.world.results.objects[f"r/acme/{task.id}/1/half.bin"] = b"left behind"
    held = claimed(scene.world)
    steering.cancel(scene.world.ports, WHO, task.id, CancelMode.SOFT)
    ended = scene.finish(held)
    assert ended.owes == (Duty.CLEAN_UP, Duty.CALLBACK, Duty.SALVAGE)
    scene.run(hours=10)
    assert scene.task(task.id).owes == (Duty.SALVAGE,)
    assert list(scene.world.results.objects) == [f"r/acme/{task.id}/2/out.txt"]
    assert scene.submit().task.state is State.SUCCEEDED


def test_a_gift_that_goes_before_the_clean_up_is_no_refused_attempts_file(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    counted: list[tuple[object, object]] = []
    monkeypatch.setattr(
        cleaning, "event", lambda _, **told: counted.append((told["kind"], told["objects"]))
    )
    task = scene.submit().task
    gateway(scene.world, draw=0.0).fail(claimed(scene.world), BROKEN)
    scene.world.results.objects[f"r/acme/{task.id}/1/half.bin"] = b"left behind"
    held = claimed(scene.world)
    steering.cancel(scene.world.ports, WHO, task.id, CancelMode.SOFT)
    assert scene.finish(held).owes == (Duty.CLEAN_UP, Duty.SALVAGE)
    assert scene.submit().task.reused_from == task.id
    scene.run()
    assert counted == [("refused_attempts", 1), ("salvage", 1)]
    assert scene.task(task.id).owes == ()


def test_the_given_result_outlives_the_one_that_it_was_copied_from(scene: Scene) -> None:
    scene.salvaged()
    task = scene.submit().task
    scene.run(hours=30)
    assert list(scene.world.results.objects) == [task.result[0].key]


def test_bytes_that_are_gone_are_computed_anew(scene: Scene) -> None:
    scene.salvaged()
    scene.world.results.objects.clear()
    assert scene.submit().task.state is State.QUEUED
    assert scene.balanced()


def test_of_two_identical_submits_at_once_one_is_given_it_and_the_other_runs(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    scene.salvaged()
    real, others = scene.world.results.copy, []

    def another_is_quicker(source: str, target: str) -> bool:
        monkeypatch.undo()
        others.append(scene.submit().task)
        return real(source, target)

    monkeypatch.setattr(scene.world.results, "copy", another_is_quicker)
    assert {scene.submit().task.state, others[0].state} == {State.SUCCEEDED, State.QUEUED}
    assert scene.balanced()


def test_a_callback_and_follow_ups_are_owed_as_after_any_success(scene: Scene) -> None:
    scene.salvaged()
    step = Step("embed_document", {"text": "next"})
    task = scene.submit(callback=callback("task.succeeded"), then=(step,)).task
    assert task.owes == (Duty.FOLLOW_UPS, Duty.CALLBACK)
    scene.run(hours=1)
    done = scene.task(task.id)
    assert done.callback is not None
    assert done.callback.state is CallbackState.DELIVERED
    assert scene.task(child_id(task.id, 0)).state is State.QUEUED


def test_the_same_key_gives_the_same_reused_task(scene: Scene) -> None:
    scene.salvaged()
    first, again = scene.submit(idempotency_key="k"), scene.submit(idempotency_key="k")
    assert (again.replayed, again.task.id) == (True, first.task.id)
    assert first.task.state is State.SUCCEEDED


def test_each_success_of_a_type_that_reuses_serves_all_identical_submits(tmp_path: Path) -> None:
    kinds = (replace(k, reuse_results=600) if k.name == "embed_document" else k for k in CATALOG)
    scene = Scene(tmp_path, Catalog(tuple(kinds)))
    first = scene.submit().task
    held = claimed(scene.world)
    path = tmp_path / "out.txt"
    path.write_text("bytes")
    worker = type(gateway(scene.world))(scene.world.ports, scene.catalog, ENVIRONMENT, "w1")
    done = worker.succeed(held, [scene.produced(path)], None)
    assert (done.state, done.owes) == (State.SUCCEEDED, ())
    for _ in range(3):
        assert scene.submit().task.reused_from == first.id
    assert scene.submit(reuse=False).task.state is State.QUEUED
    scene.world.clock.advance(601)
    assert scene.submit().task.state is State.QUEUED
    assert scene.balanced()


def test_a_success_of_a_type_that_does_not_opt_in_is_not_reused(scene: Scene) -> None:
    scene.submit()
    scene.finish(claimed(scene.world))
    assert scene.submit().task.state is State.QUEUED


def test_the_fingerprint_knows_numbers_apart_and_no_order() -> None:
    assert fingerprint("a", 1, '{"x":1,"y":2}') == fingerprint("a", 1, '{"y":2,"x":1}')
    marks = {
        fingerprint(*parts)
        for parts in (("a", 1, "{}"), ("b", 1, "{}"), ("a", 2, "{}"), ("a", 1, '{"x":1}'))
    }
    assert len(marks | {fingerprint("a", 1, '{"x":1.0}')}) == 5


def test_what_is_too_large_to_be_copied_while_the_caller_waits_is_not_kept() -> None:
    def of(size: int) -> ResultFile:
        return ResultFile("a", "r/a/b/1/a", size, bytes(32), "x/y")

    assert copyable([of(MOST_BYTES)])
    assert not copyable([of(MOST_BYTES), of(1)])
    assert not copyable([of(1)] * 21)


def test_a_store_that_is_away_in_the_middle_gives_nothing_away(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = scene.salvaged()
    real = scene.world.tasks.create

    def dies(submission: Submission) -> Any:
        if submission.takes:
            raise TaskgateError
        return real(submission)

    monkeypatch.setattr(scene.world.tasks, "create", dies)
    with pytest.raises(TaskgateError):
        scene.submit()
    monkeypatch.undo()
    assert scene.submit().task.reused_from == source.id
    assert scene.balanced()
