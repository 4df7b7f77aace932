"""What a stage may say about its workers, and what it is told when it may not."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from taskgate.capacity import Host, PoolCapacity, Workers
from taskgate.errors import BadSetting
from taskgate.settings import STAGES, Stage, stage

FARGATE = PoolCapacity(host=Host.FARGATE)


@pytest.mark.parametrize(
    ("given", "named"),
    [
        ({"least": 5, "most": 4}, "most"),
        ({"most": 1001}, "most"),
        ({"spare": 4, "most": 4}, "spare"),
        ({"backlog_each": 0.0}, "backlog_each"),
        ({"idle_minutes": 0}, "idle_minutes"),
        ({"gpus": 17}, "gpus"),
        ({"host": Host.FARGATE, "gpus": 1}, "gpus"),
        ({"host": Host.FARGATE, "cpu": 1024, "memory": 1024}, "cpu and memory"),
        ({"host": Host.FARGATE, "cpu": 3072}, "cpu and memory"),
        ({"host": Host.EC2}, "instance_types"),
        ({"host": Host.MANAGED, "gpus": 1}, "accelerators"),
    ],
)
def test_a_pool_that_cannot_be_is_refused_by_field_and_bound(
    given: dict[str, Any], named: str
) -> None:
    with pytest.raises(BadSetting, match=f"^{named} is .*; it must be "):
        PoolCapacity(**given)


@pytest.mark.parametrize(
    "image", ["", "taskgate-worker", "taskgate-worker:", "w@sha256:abc", "Worker:1", "a b:1"]
)
def test_an_image_without_a_tag_or_a_whole_digest_is_refused(image: str) -> None:
    with pytest.raises(BadSetting, match=r"^image is "):
        Workers(image=image)


@pytest.mark.parametrize("version", ["0.1.0", f"sha256:{'0' * 64}"])
def test_an_image_is_a_repository_and_a_tag_or_digest(version: str) -> None:
    mark = "@" if version.startswith("sha256") else ":"
    made = Workers(image=f"team/taskgate-worker{mark}{version}")
    assert (made.repository, made.version) == ("team/taskgate-worker", version)


@pytest.mark.parametrize("zones", [1, 4])
def test_one_zone_is_too_few_to_find_a_gpu_in(zones: int) -> None:
    with pytest.raises(BadSetting, match=r"^zones is "):
        Workers(zones=zones)


def test_pools_that_run_elsewhere_are_not_hosted() -> None:
    workers = Workers(pools={"cpu": FARGATE, "gpu": PoolCapacity()})
    assert set(workers.hosted) == {"cpu"}


def test_the_emulator_hosts_no_workers() -> None:
    with pytest.raises(BadSetting, match=r"^workers is "):
        Stage(name="local", emulator=True, workers=Workers(pools={"cpu": FARGATE}))


@pytest.mark.parametrize("cell", ["", "C1", "c-1", "é"])
def test_a_cell_that_would_spoil_a_name_is_refused(cell: str) -> None:
    with pytest.raises(BadSetting, match=r"^cell is "):
        replace(stage("prod"), cell=cell)


@pytest.mark.parametrize("name", STAGES)
def test_no_stage_runs_more_workers_than_it_says(name: str) -> None:
    most = {pool: capacity.most for pool, capacity in stage(name).workers.hosted.items()}
    assert all(1 <= workers <= 8 for workers in most.values())
