"""The records are restored to an earlier moment, on the emulator: queues, pulses and bucket are newer."""

from __future__ import annotations

import hashlib
import itertools
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest

from taskgate.aws import clients
from taskgate.aws.audit import DynamoAudit
from taskgate.aws.footprints import AwsFootprints
from taskgate.aws.ports import build, now
from taskgate.aws.putting_back import PutBack, put_back
from taskgate.catalog import CATALOG
from taskgate.gateway.door import submitting
from taskgate.gateway.door.submitting import SubmitRequest
from taskgate.gateway.office.reconciling import reconcile
from taskgate.gateway.office.restoring import Finding, Kind, catch_up
from taskgate.gateway.sweep import sweeping
from taskgate.gateway.work.worker import Held, Produced, WorkerGateway
from taskgate.lifecycle.states import State
from taskgate.principal import SCOPES, Principal
from taskgate.task import Owner, Task
from taskgate.testing import aws_resources

_NUMBERS = itertools.count(1)
LANE = "cpu-normal"
WHO = Principal(Owner("acme", "ada"), SCOPES, 100, "key")


@dataclass
class Place:
    """A deployment of its own, whose clock can be put forward."""

    folder: Path
    ahead: int = 0
    written: Iterator[int] = field(default_factory=lambda: itertools.count(1))

    def __post_init__(self) -> None:
        self.environment = aws_resources.create(f"drill{next(_NUMBERS)}")
        self.ports = replace(build(self.environment), now=lambda: now() + self.ahead)
        self.worker = WorkerGateway(self.ports, CATALOG, self.environment, "w1")
        self.dynamodb, self.s3 = clients.dynamodb(), clients.s3()

    def submit(self) -> Task:
        request = SubmitRequest(type="embed_document", input={"text": "hello"})
        return submitting.submit(self.ports, CATALOG, self.environment, WHO, request).task

    def claim(self) -> Held:
        (delivery,) = self.ports.lanes.receive(LANE)
        held = self.worker.claim(delivery)
        assert isinstance(held, Held)
        self.worker.beat(held, 0.5, "")
        return held

    def end(self, held: Held) -> Task:
        file = self.folder / "out"
        file.write_text(f"bytes {next(self.written)}")
        return self.worker.succeed(held, [Produced("out", str(file), "text/plain")], None)

    def backup(self) -> str:
        """A table beside the real one that holds what that holds now, as a restore makes one."""
        copy = f"{self.environment.tasks_table}-restored"
        self.dynamodb.create_table(**aws_resources.tasks_table(copy))
        pages = self.dynamodb.get_paginator("scan").paginate(TableName=self.environment.tasks_table)
        for item in (item for page in pages for item in page["Items"]):
            self.dynamodb.put_item(TableName=copy, Item=item)
        return copy

    def restore(self, copy: str, *, apply: bool = True) -> PutBack:
        return put_back(self.dynamodb, copy, self.environment.tasks_table, apply=apply)

    def caught_up(self, at: int) -> list[Finding]:
        footprints = AwsFootprints(
            self.dynamodb,
            self.s3,
            ephemeral=self.environment.ephemeral_table,
            bucket=self.environment.results_bucket,
            now=now,
        )
        return list(catch_up(self.ports, footprints, at, apply=True))

    def settle(self) -> None:
        """Ten minutes of sweeps, and workers that take whatever comes."""
        for _ in range(10):
            self.ahead += 60_000
            sweeping.sweep(self.ports, range(16), self.ports.now() + 50_000)
            for delivery in self.ports.lanes.receive(LANE, most=10):
                held = self.worker.claim(delivery)
                if isinstance(held, Held):
                    self.end(held)

    def unaccounted(self) -> int:
        audit = DynamoAudit(self.dynamodb, table=self.environment.tasks_table, clock_shards=16)
        stop_at = self.ports.now() + 60_000
        return reconcile(
            self.ports, audit, apply=False, segments=range(2), of=2, stop_at=stop_at
        ).unaccounted


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


def test_after_a_restore_what_is_on_record_ends_with_its_own_bytes_and_what_is_not_is_named(
    place: Place,
) -> None:
    done = place.submit()
    place.end(place.claim())
    running = place.submit()
    held = place.claim()
    waiting = place.submit()
    backup, at = place.backup(), now()
    place.end(held)
    place.end(place.claim())
    lost = place.submit()
    place.end(place.claim())

    shown = place.restore(backup, apply=False)
    assert place.restore(backup) == shown
    assert place.restore(backup) == PutBack(0, 0)
    assert place.ports.tasks.get(lost.id) is None
    found = {f.footprint.task_id: f for f in place.caught_up(at)}
    place.settle()

    assert {(i, f.kind) for i, f in found.items()} == {
        (waiting.id, Kind.BEHIND),
        (lost.id, Kind.LOST),
    }
    assert found[lost.id].footprint.tenant == "acme"
    ended = [place.ports.tasks.get(task.id) for task in (done, running, waiting)]
    assert [t.state for t in ended if t] == [State.SUCCEEDED] * 3
    assert [t.attempt for t in ended if t] == [1, 2, 2]
    for task in ended:
        assert task is not None
        for file in task.result:
            content = place.ports.results.read(file.key, 100)
            assert content is not None
            assert hashlib.sha256(content).digest() == file.sha256
    assert place.ports.tasks.get(lost.id) is None
    assert place.unaccounted() == 0
    assert {f.kind for f in place.caught_up(at)} == {Kind.LOST}


def test_other_bytes_under_an_attempts_key_are_never_served_as_its_own(place: Place) -> None:
    task = place.submit()
    place.s3.put_object(
        Bucket=place.environment.results_bucket, Key=f"r/acme/{task.id}/1/out", Body=b"foreign"
    )
    place.end(place.claim())
    ended = place.ports.tasks.get(task.id)
    assert ended is not None
    (file,) = ended.result
    assert file.key == f"r/acme/{task.id}/1/{file.sha256.hex()}/out"
    assert place.ports.results.read(file.key, 100) == b"bytes 1"
