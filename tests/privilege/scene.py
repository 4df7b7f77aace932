"""Who and what a story needs: a caller with a key, a receiver, workers under their role."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import pytest

from taskgate.apikeys import issue
from taskgate.aws.keys import DynamoKeys
from taskgate.aws.plans import DynamoPlans
from taskgate.aws.ports import build
from taskgate.client import Taskgate, TaskHandle
from taskgate.local import LocalStack
from taskgate.local.process import Child
from taskgate.plans import Plan
from taskgate.ports import Ports
from taskgate.principal import SCOPES
from taskgate.task import Owner
from taskgate.testing.receiver import Receiver, says
from tests.e2e.waiting import until
from tests.privilege.canaries import Canaries
from tests.privilege.roles import Role
from tests.privilege.worker_role import credentials

TENANT: Final = "rights"


@contextmanager
def built(stack: LocalStack) -> Iterator[Ports]:
    """The ports of an operator at a terminal, who has every right."""
    with pytest.MonkeyPatch.context() as patch:
        for name, value in stack.client_variables.items():
            patch.setenv(name, value)
        ports = build(stack.environment)
    yield ports
    for port in (ports.tasks, ports.lanes, ports.results):
        port._client.close()  # type: ignore[union-attr]


def storied(folder: Path, record: Path, say: Callable[[str], None] | None = None) -> LocalStack:
    """The stack for a story: with every room that a stage may have, the bus of events among them."""
    more = {"say": say} if say else {}
    return LocalStack(folder=folder, record=record, event_bus=True, **more)


@dataclass
class Scene:
    """What a story needs, and what it leaves behind."""

    stack: LocalStack
    record: Path
    folder: Path
    """Where results are saved."""
    secrets: Canaries = field(default_factory=Canaries)
    client: Taskgate = field(init=False)
    failed: TaskHandle = field(init=False)
    """A task that ended badly, for those who act on such ones."""
    worker: Role = field(init=False)
    """The role that the workers run under."""
    workers: list[Child] = field(default_factory=list)
    """Every worker that it started; the stack may have had others before."""

    def _orphan(self, handle: TaskHandle) -> None:
        """A file that the lost attempt had uploaded before it died."""
        body, key = self.secrets.word("a result").encode(), f"r/{TENANT}/{handle.id}/1/half.png"
        bucket = self.stack.environment.results_bucket
        self.stack.client("s3").put_object(Bucket=bucket, Key=key, Body=body)

    def _swept(self, true: Callable[[], bool]) -> None:
        def swept() -> bool:
            self.stack.sweep()
            return true()

        until(swept)

    def _objects(self, handle: TaskHandle) -> list[Any]:
        return list(
            self.stack.client("s3")
            .list_objects_v2(
                Bucket=self.stack.environment.results_bucket, Prefix=f"r/{TENANT}/{handle.id}/"
            )
            .get("Contents", [])
        )

    def _kept(self) -> int:
        bucket = self.stack.environment.results_bucket
        found = self.stack.client("s3").list_objects_v2(Bucket=bucket, Prefix="dead/cpu-normal/")
        return len(found.get("Contents", []))

    @contextmanager
    def _caller(self) -> Iterator[Taskgate]:
        dynamodb, table = self.stack.client("dynamodb"), self.stack.environment.tasks_table
        plan = Plan(
            name="story",
            max_pending=100,
            submits_per_minute=6000,
            burst=100,
            max_processing=5,
        )
        assert DynamoPlans(dynamodb, table=table).write_plan(plan)
        keys = DynamoKeys(dynamodb, table=table)
        key = issue(keys, Owner(TENANT, "ruth"), SCOPES, plan="story")
        self.secrets.keep("an API key", key)
        self.secrets.keep("a key's secret", key.split("_", 2)[2])
        master = self.stack.client("secretsmanager").get_secret_value(
            SecretId=self.stack.environment.webhook_master
        )
        self.secrets.keep("the webhook master", master["SecretString"])
        with Taskgate(self.stack.api_url, key) as client:
            for secret in client.webhook_secrets():
                self.secrets.keep("a webhook secret", secret)
            yield client

    @contextmanager
    def _receiver(self) -> Iterator[Receiver]:
        answers = (says(500), says(204))
        with Receiver(*answers, secrets=[self.secrets.words["a webhook secret"]]) as receiver:
            yield receiver

    def _hook(self, receiver: Receiver, name: str) -> str:
        word = self.secrets.word
        return (
            f"{receiver.url}/{word(f'hook path of {name}')}?token={word(f'hook query of {name}')}"
        )

    @contextmanager
    def _working(self, *pools: str, **settings: str) -> Iterator[list[Child]]:
        extra = {**credentials(self.stack), **settings}
        workers = [self.stack.start_worker(pool, extra) for pool in pools]
        self.workers += workers
        try:
            yield workers
        finally:
            for worker in workers:
                worker.stop()


def bearer(key: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {key}"}
