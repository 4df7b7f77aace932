"""A clean-up that lags behind a reopened task leaves the new attempt's files alone."""

from __future__ import annotations

from pathlib import Path

import pytest

from taskgate.catalog import CATALOG
from taskgate.gateway.outbox import cleaning
from taskgate.gateway.steer import operating
from taskgate.gateway.work.worker import Produced
from taskgate.lifecycle.states import State
from tests.unit.gateway.test_settling import Post
from tests.unit.gateway.test_worker_gateway import CRASHED, WHO, claimed, gateway


def test_a_clean_up_under_way_does_not_remove_what_a_reopened_task_has_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    post = Post()
    world, task = post.world, post.submitted()
    for failure in (CRASHED, CRASHED, CRASHED):
        gateway(world, draw=0.0).fail(claimed(world), failure)
    assert world.state(task.id) is State.FAILED
    world.results.objects[f"r/acme/{task.id}/2/half.bin"] = b"left behind"
    real, path = world.results.remove, tmp_path / "x.bin"
    path.write_bytes(b"won")

    def slow(prefix: str, keep: str = "") -> int:
        monkeypatch.setattr(world.results, "remove", real)
        operating.reopen(world.ports, CATALOG, WHO, task.id)
        held = claimed(world)
        gateway(world).succeed(held, [Produced("x.bin", str(path), "x/y")], None)
        return real(prefix, keep)

    monkeypatch.setattr(world.results, "remove", slow)
    assert post.outbox.settle(task.id) == "outrun"
    post.run()
    assert world.state(task.id) is State.SUCCEEDED
    assert list(world.results.objects) == [f"r/acme/{task.id}/4/x.bin"]


def test_what_refused_attempts_left_behind_is_removed_and_counted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    counted: list[tuple[str, object, object]] = []
    monkeypatch.setattr(
        cleaning,
        "event",
        lambda name, **told: counted.append((name, told["kind"], told["objects"])),
    )
    post, path = Post(), tmp_path / "x.bin"
    task = post.submitted()
    gateway(post.world, draw=0.0).fail(claimed(post.world), CRASHED)
    for name in ("a.bin", "b.bin"):
        post.world.results.objects[f"r/acme/{task.id}/1/{name}"] = b"left behind"
    path.write_bytes(b"won")
    gateway(post.world).succeed(claimed(post.world), [Produced("x.bin", str(path), "x/y")], None)
    post.run()
    assert list(post.world.results.objects) == [f"r/acme/{task.id}/2/x.bin"]
    assert counted == [("cleaned", "refused_attempts", 2)]
