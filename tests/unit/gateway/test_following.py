"""Follow-ups and kept results: what a chain is given, and what it is not (decision 24)."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from taskgate.catalog import CATALOG, Catalog
from taskgate.gateway.door import submitting
from taskgate.gateway.door.chains import Step
from taskgate.gateway.door.submitting import SubmitRequest
from taskgate.gateway.outbox.following import child_id
from taskgate.gateway.work.worker import Held, Produced, WorkerGateway
from taskgate.lifecycle.states import State
from taskgate.salvage import fingerprint
from taskgate.task import Task
from tests.unit.gateway.test_settling import Post
from tests.unit.gateway.test_worker_gateway import ENVIRONMENT, WHO, gateway

TAKES_A_FILE = Step(type="finish_image", input={"image": {"$result": "image.png"}})
TAKES_OUTPUT = Step(type="embed_document", input={"text": {"$output": "text"}})
TAKES_NOTHING = Step(type="embed_document", input={"text": "the same"})


def chain(post: Post, folder: Path, *steps: Step) -> list[Task]:
    """A chain whose first task has succeeded, always with the same bytes; its follow-ups."""
    request = SubmitRequest(type="text_to_image", input={"prompt": "a lighthouse"}, then=steps)
    task = submitting.submit(post.world.ports, CATALOG, ENVIRONMENT, WHO, request).task
    path = folder / "image.png"
    path.write_bytes(b"the same picture")
    gateway(post.world).succeed(
        claimed(post, task), [Produced("image.png", str(path), "image/png")], '{"text":"a word"}'
    )
    post.outbox.settle(task.id)
    return [post.task(child_id(task.id, n)) for n in range(len(steps))]


def claimed(post: Post, task: Task) -> Held:
    """The worker takes what waits in the task's lane, which is the task."""
    (delivery,) = post.world.lanes.receive(task.lane)
    held = gateway(post.world).claim(delivery)
    assert isinstance(held, Held)
    assert held.task.id == task.id
    return held


def mark(post: Post, task: Task) -> str:
    """What the task has in common with those that are identical to it."""
    text = post.world.tasks.get_input(task.id)
    assert text is not None
    return fingerprint(task.type, CATALOG[task.type].version, text)


def test_the_same_chain_again_asks_its_follow_up_for_another_input(tmp_path: Path) -> None:
    """When it takes a file: that names the parent. What it takes of the output does not."""
    post = Post()
    steps = (TAKES_A_FILE, TAKES_OUTPUT, TAKES_NOTHING)
    one, two = ([mark(post, t) for t in chain(post, tmp_path, *steps)] for _ in range(2))
    assert [a == b for a, b in zip(one, two, strict=True)] == [False, True, True]


def test_a_follow_up_runs_although_an_identical_result_is_kept(tmp_path: Path) -> None:
    kept = (replace(k, reuse_results=600) if k.name == "embed_document" else k for k in CATALOG)
    catalog, post = Catalog(tuple(kept)), Post()
    post.outbox = replace(post.outbox, catalog=catalog)
    (first,) = chain(post, tmp_path, TAKES_NOTHING)
    worker = WorkerGateway(post.world.ports, catalog, ENVIRONMENT, "w1")
    worker.succeed(claimed(post, first), [], "{}")
    request = SubmitRequest(type=TAKES_NOTHING.type, input=TAKES_NOTHING.input)
    given = submitting.submit(post.world.ports, catalog, ENVIRONMENT, WHO, request).task
    assert (given.state, given.reused_from) == (State.SUCCEEDED, first.id)
    (second,) = chain(post, tmp_path, TAKES_NOTHING)
    assert mark(post, second) == mark(post, first)
    assert (second.state, second.reused_from) == (State.QUEUED, None)
