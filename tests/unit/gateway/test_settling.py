"""What an ended task owes is settled: once, whoever dies, and nothing is owed for ever."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest

from taskgate.catalog import CATALOG
from taskgate.gateway.door import submitting
from taskgate.gateway.door.chains import Step, write_steps
from taskgate.gateway.outbox.delivering import Attempt, Reason
from taskgate.gateway.outbox.following import child_id
from taskgate.gateway.outbox.settling import Outbox
from taskgate.gateway.steer import steering
from taskgate.gateway.sweep import sweeping
from taskgate.gateway.work.worker import Produced
from taskgate.lifecycle import clock, owing
from taskgate.lifecycle.retry import ErrorClass
from taskgate.lifecycle.states import State
from taskgate.ports import Submission
from taskgate.task import Callback, CallbackState, CancelMode, Duty, Task
from taskgate.testing.factories import OWNER, stamp, task_in
from taskgate.testing.faults import Crash
from taskgate.testing.memory import MemoryWorld
from taskgate.webhooks import secrets_for, verify
from tests.unit.gateway.test_worker_gateway import BROKEN, ENVIRONMENT, WHO, claimed, gateway

MASTER = bytes(range(32))
URL = "https://hooks.example/taskgate"
PERMANENT = replace(BROKEN, error_class=ErrorClass.PERMANENT)
OK = Attempt(200, Reason.OK, 12)
DOWN = Attempt(503, Reason.SERVER_ERROR, 12)


@dataclass
class Letters:
    """A courier that keeps what it is given and answers by a script."""

    answers: Iterator[Attempt | BaseException]
    sent: list[tuple[str, Mapping[str, str], bytes]] = field(default_factory=list)

    def __call__(self, url: str, headers: Mapping[str, str], body: bytes) -> Attempt:
        self.sent.append((url, headers, body))
        answer = next(self.answers, OK)
        if isinstance(answer, BaseException):
            raise answer
        return answer


class Post:
    """An outbox over the in-memory ports."""

    def __init__(self, *answers: Attempt | BaseException) -> None:
        self.world = MemoryWorld()
        self.letters, self.errands = Letters(iter(answers)), self.world.errands
        self.receivers = self.world.receivers
        self.outbox = Outbox(
            ports=self.world.ports,
            catalog=CATALOG,
            environment=ENVIRONMENT,
            courier=self.letters,
            secrets=lambda tenant: secrets_for(MASTER, tenant, [1]),
            draw=lambda: 0.5,
            sleep=self.world.clock.advance,
        )

    def task(self, task_id: str) -> Task:
        return self.world.tasks.tasks[task_id]

    def succeeded(self, tmp_path: Path, **fields: object) -> Task:
        """A task that ran and succeeded with one file."""
        task = self.submitted(**fields)
        held = claimed(self.world)
        path = tmp_path / "image.png"
        path.write_bytes(b"png")
        gateway(self.world).succeed(
            held, [Produced("image.png", str(path), "image/png")], '{"pages":3}'
        )
        return self.task(task.id)

    def submitted(self, then: list[Step] | None = None, **fields: object) -> Task:
        task = task_in(State.CREATED, at=self.world.clock(), **fields)
        task = replace(task, follow_ups=len(then or ()), due_at=task.due_at)
        text = write_steps(then) if then else None
        self.world.tasks.create(
            Submission(task=task, input="{}", idempotency=None, max_pending=9, then=text)
        )
        return submitting.send_created(self.world.ports, task)

    def run(self, hours: float = 100) -> None:
        """Let time pass: errands when they are due, the backstop each minute."""
        end = self.world.clock() + round(hours * 3600_000)
        while self.world.clock() < end:
            self.step()
            if all(not t.owes for t in self.world.tasks.tasks.values()) and not self.errands.sent:
                return

    def step(self) -> None:
        self.outbox.errands_due(range(16), self.world.clock() + 50_000)
        ready = self.errands.take()
        for task_id, news in ready:
            self.outbox.tell(task_id, news) if news else self.outbox.settle(task_id)
        if not ready:
            self.world.clock.advance(5)


def callback(*events: str) -> Callback:
    return Callback(URL, events or ("task.succeeded", "task.failed", "task.timed_out"))


def test_a_task_without_debts_is_settled_by_its_end(tmp_path: Path) -> None:
    post = Post()
    task = post.succeeded(tmp_path)
    assert (task.owes, task.due_at) == ((), None)
    assert post.outbox.settle(task.id) == "nothing_owed"


def test_an_end_owes_its_callback_in_the_same_write(tmp_path: Path) -> None:
    task = Post().succeeded(tmp_path, callback=callback())
    assert task.owes == (Duty.CALLBACK,)
    assert task.due_at == clock.due(task) == task.ended_at


def test_a_callback_is_signed_delivered_and_settles_the_task(tmp_path: Path) -> None:
    post = Post(OK)
    task = post.succeeded(tmp_path, callback=callback())
    assert post.outbox.settle(task.id) == "delivered"
    ((url, headers, body),) = post.letters.sent
    assert url == URL
    event = verify(body, headers, secrets_for(MASTER, "acme", [1]), now=post.world.clock() // 1000)
    assert event["type"] == "task.succeeded"
    assert event["data"]["id"] == task.id
    assert event["data"]["output"] == {"pages": 3}
    after = post.task(task.id)
    assert (after.owes, after.due_at) == ((), None)
    assert after.callback is not None
    assert (after.callback.state, after.callback.tries) == (CallbackState.DELIVERED, 1)


def test_three_failures_then_a_success_are_four_requests_with_the_same_bytes(
    tmp_path: Path,
) -> None:
    post = Post(DOWN, Attempt(None, Reason.TIMEOUT, 10_000), Attempt(302, Reason.REDIRECT, 3), OK)
    task = post.succeeded(tmp_path, callback=callback())
    started = post.world.clock()
    post.run()
    assert len(post.letters.sent) == 4
    assert len({body for _, _, body in post.letters.sent}) == 1
    assert len({headers["webhook-id"] for _, headers, _ in post.letters.sent}) == 1
    done = post.task(task.id).callback
    assert done is not None
    assert [t.reason for t in done.latest] == ["server_error", "timeout", "redirect", "ok"]
    assert 150_000 <= post.world.clock() - started < 240_000


def test_a_receiver_that_never_answers_is_given_up_in_the_end(tmp_path: Path) -> None:
    post = Post(*[DOWN] * 100)
    task = post.succeeded(tmp_path, callback=callback())
    post.run(hours=200)
    after = post.task(task.id)
    assert (after.owes, after.due_at) == ((), None)
    assert after.callback is not None
    assert (after.callback.state, after.callback.tries) == (CallbackState.GIVEN_UP, 8)


def test_gone_stops_at_once(tmp_path: Path) -> None:
    post = Post(Attempt(410, Reason.GONE, 1))
    task = post.succeeded(tmp_path, callback=callback())
    assert post.outbox.settle(task.id) == "given_up"
    assert post.task(task.id).due_at is None


def test_a_death_between_the_request_and_the_record_sends_the_same_event_again(
    tmp_path: Path,
) -> None:
    post = Post(Crash(), OK)
    task = post.succeeded(tmp_path, callback=callback())
    with pytest.raises(Crash):
        post.outbox.settle(task.id)
    assert post.outbox.settle(task.id) == "not_due"
    post.world.clock.advance(31)
    assert post.outbox.settle(task.id) == "delivered"
    first, second = post.letters.sent
    assert first[1]["webhook-id"] == second[1]["webhook-id"]
    assert first[2] == second[2]


def test_two_copies_at_once_make_one_request(tmp_path: Path) -> None:
    post = Post(OK)
    task = post.succeeded(tmp_path, callback=callback())
    seen = post.task(task.id)
    post.world.tasks.apply(owing.begun(seen, stamp(post.world.clock())))
    assert post.outbox.settle(task.id) == "not_due"
    assert post.letters.sent == []


@pytest.mark.parametrize(
    ("end", "told"),
    [
        ("succeed", ["task.succeeded"]),
        ("fail", ["task.failed"]),
        ("cancel", []),
        ("expire", ["task.timed_out"]),
    ],
)
def test_each_way_to_end_tells_once_and_only_what_was_asked_for(end: str, told: list[str]) -> None:
    post = Post()
    task = post.submitted(callback=callback())
    ends: dict[str, Callable[[], object]] = {
        "succeed": lambda: gateway(post.world).succeed(claimed(post.world), [], None),
        "fail": lambda: gateway(post.world).fail(claimed(post.world), PERMANENT),
        "cancel": lambda: _cancel(post, task),
        "expire": lambda: _expire(post),
    }
    ends[end]()
    post.run()
    assert [json.loads(body)["type"] for _, _, body in post.letters.sent] == told


def test_a_receiver_that_was_down_gets_every_callback_and_no_storm(tmp_path: Path) -> None:
    post = Post(*[DOWN] * 30)
    tasks = [post.succeeded(tmp_path, callback=callback()) for _ in range(200)]
    post.run(hours=24)
    states = {post.task(t.id).callback.state for t in tasks}  # type: ignore[union-attr]
    assert states == {CallbackState.DELIVERED}
    # While it was down it was asked a few times, not two hundred.
    assert len(post.letters.sent) <= 230 + 10


def test_follow_ups_of_a_success_are_created_once_with_the_parents_results(
    tmp_path: Path,
) -> None:
    post = Post()
    step = Step("embed_document", {"text": "after", "chunk_chars": 500})
    task = post.succeeded(tmp_path, then=[step, step])
    for _ in range(3):
        post.outbox.settle(task.id)
    children = [post.task(child_id(task.id, i)) for i in range(2)]
    assert [c.state for c in children] == [State.QUEUED, State.QUEUED]
    assert {c.parent for c in children} == {task.id}
    assert {e.actor for c in children for e in c.history} == {"outbox"}
    assert post.world.tasks.ledger(OWNER).submitted == 3
    assert post.task(task.id).due_at is None


def test_a_follow_up_takes_a_value_from_the_parents_output(tmp_path: Path) -> None:
    post = Post()
    step = Step("text_to_image", {"prompt": "pages", "steps": {"$output": "pages"}})
    task = post.succeeded(tmp_path, then=[step])
    post.outbox.settle(task.id)
    text = post.world.tasks.get_input(child_id(task.id, 0))
    assert text is not None
    assert json.loads(text)["steps"] == 3


def test_a_reference_that_leads_nowhere_fails_the_follow_up_and_says_so(tmp_path: Path) -> None:
    post = Post()
    step = Step("text_to_image", {"prompt": {"$output": "nothing"}})
    task = post.succeeded(tmp_path, then=[step])
    post.run()
    child = post.task(child_id(task.id, 0))
    assert child.state is State.FAILED
    assert child.error is not None
    assert "no output nothing" in child.error.message


def test_what_follows_a_failure_is_canceled_all_the_way_down() -> None:
    post = Post()
    inner = Step("embed_document", {"text": "b"})
    outer = Step("embed_document", {"text": "a"}, then=(inner,))
    task = post.submitted(then=[outer])
    _cancel(post, task)
    post.run()
    child = post.task(child_id(task.id, 0))
    grandchild = post.task(child_id(child.id, 0))
    assert [child.state, grandchild.state] == [State.CANCELED, State.CANCELED]
    assert child.error is not None
    assert child.error.message == f"{task.id} ended canceled"
    assert post.world.tasks.ledger(OWNER).balanced
    assert all(t.due_at is None for t in post.world.tasks.tasks.values())


@pytest.mark.parametrize("dies_after", ["create", "apply"])
def test_what_depended_on_a_failure_never_starts_whoever_dies_in_between(dies_after: str) -> None:
    """It is canceled in the write that puts it on record: no clock, no message, no moment between."""
    post = Post()
    task = post.submitted(then=[Step("embed_document", {"text": "after"})] * 2)
    _cancel(post, task)
    real = getattr(post.world.tasks, dies_after)

    def dies(written: object) -> None:
        real(written)
        raise Crash

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(post.world.tasks, dies_after, dies)
        with pytest.raises(Crash):
            post.outbox.settle(task.id)
    post.world.clock.advance(61)
    sweeping.sweep(post.world.ports, range(16), post.world.clock() + 50_000)
    assert post.world.lanes.waiting(task.lane) == 1, "its own message, and none of what follows"
    post.run()
    children = [post.task(child_id(task.id, n)) for n in range(2)]
    assert [c.state for c in children] == [State.CANCELED] * 2
    assert [[e.verb.value for e in c.history] for c in children] == [["submit", "cancel"]] * 2
    books = post.world.tasks.ledger(OWNER)
    assert (books.balanced, books.submitted, books.canceled) == (True, 3, 3)


def test_files_of_refused_attempts_are_removed_and_the_winners_stay(tmp_path: Path) -> None:
    post = Post()
    task = post.submitted()
    gateway(post.world, draw=0.0).fail(claimed(post.world), BROKEN)
    post.world.results.objects[f"r/acme/{task.id}/1/half.bin"] = b"left behind"
    path = tmp_path / "x.bin"
    path.write_bytes(b"won")
    held = claimed(post.world)
    gateway(post.world).succeed(held, [Produced("x.bin", str(path), "x/y")], None)
    assert post.task(task.id).owes == (Duty.CLEAN_UP,)
    post.run()
    assert list(post.world.results.objects) == [f"r/acme/{task.id}/2/x.bin"]


def test_a_callback_can_be_asked_for_again_by_hand(tmp_path: Path) -> None:
    post = Post(Attempt(410, Reason.GONE, 1), OK)
    task = post.succeeded(tmp_path, callback=callback())
    post.run()
    again = owing.redeliver(post.task(task.id), stamp(post.world.clock()))
    post.world.tasks.apply(again)
    post.run()
    done = post.task(task.id).callback
    assert done is not None
    assert (done.state, done.tries) == (CallbackState.DELIVERED, 2)
    assert len({body for _, _, body in post.letters.sent}) == 1


def _cancel(post: Post, task: Task) -> None:
    steering.cancel(post.world.ports, WHO, task.id, CancelMode.HARD)


def _expire(post: Post) -> None:
    for _ in range(40):
        post.world.clock.advance(60)
        sweeping.sweep(post.world.ports, range(16), post.world.clock() + 50_000)
