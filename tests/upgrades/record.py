"""Writes down the items that a version of this code makes: one task in each state, and all beside it.

``PYTHONPATH=<checkout> python tests/upgrades/record.py <version>`` records the code of that checkout, so it
keeps to what the oldest recorded version already had, and to more only where a version has it.
"""

from __future__ import annotations

import base64
import json
import os
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import boto3
from moto import mock_aws

from taskgate.aws.ports import build
from taskgate.catalog import CATALOG
from taskgate.gateway.door import submitting
from taskgate.gateway.steer import steering
from taskgate.gateway.sweep import sweeping
from taskgate.gateway.work.worker import Failure, Held, Produced, WorkerGateway
from taskgate.lifecycle.retry import ErrorClass, ErrorCode
from taskgate.lifecycle.states import State
from taskgate.ports import Due
from taskgate.principal import SCOPES, Principal
from taskgate.task import CancelMode, Owner, Task
from taskgate.testing import aws_resources

ITEMS = Path(__file__).parent / "items"
OWNER = Owner("acme", "ada")
WHO = Principal(OWNER, SCOPES, 100, "k")
LATER_MS = 120_000


class Recorder:
    """Drives one task a case through the code of this version."""

    def __init__(self, folder: Path) -> None:
        self.environment = aws_resources.create("old")
        self.ports = build(self.environment)
        self.worker = WorkerGateway(self.ports, CATALOG, self.environment, "w-1-abcd")
        self.result = folder / "vectors.npy"
        self.result.write_bytes(b"result")

    def cases(self) -> dict[str, str]:
        """The task's id by case."""
        made = {name: case() for name, case in self._known().items()}
        made |= {name: task for name, case in self._newer().items() if (task := _tried(case))}
        return {name: task.id for name, task in made.items()}

    def _known(self) -> dict[str, Callable[[], Task]]:
        return {
            "queued": self._submit,
            "processing": lambda: self._claimed().task,
            "stalled": self._stalled,
            "canceling": self._canceling,
            "retrying": lambda: self._failed(ErrorClass.TRANSIENT),
            "failed": lambda: self._failed(ErrorClass.PERMANENT),
            "succeeded": self._succeeded,
            "canceled": self._canceled,
        }

    def _newer(self) -> dict[str, Callable[[], Task]]:
        return {"owing": self._owing, "scheduled": self._scheduled}

    def _submit(self, **more: Any) -> Task:
        request = submitting.SubmitRequest(
            type="embed_document",
            input={"text": "a lease"},
            metadata={"a": "b"},
            idempotency_key=os.urandom(8).hex(),
            **more,
        )
        return submitting.submit(self.ports, CATALOG, self.environment, WHO, request).task

    def _claimed(self, **more: Any) -> Held:
        task = self._submit(**more)
        for _ in range(50):
            for delivery in self.ports.lanes.receive(task.lane):
                if delivery.message.task_id != task.id:
                    continue
                held = self.worker.claim(delivery)
                assert isinstance(held, Held), held
                self.worker.beat(held, 0.5, "embed")
                return held
        raise AssertionError("the message did not come")

    def _stalled(self) -> Task:
        task = self._claimed().task
        later = replace(self.ports, now=lambda: int(time.time() * 1000) + LATER_MS)
        sweeping.look(later, Due(task.id, 0))
        return self._in(task, State.STALLED)

    def _canceling(self) -> Task:
        held = self._claimed()
        steering.cancel(self.ports, WHO, held.task.id, CancelMode.SOFT, "enough")
        return self._in(held.task, State.CANCELING)

    def _canceled(self) -> Task:
        task = self._submit()
        steering.cancel(self.ports, WHO, task.id, CancelMode.HARD, "enough")
        return self._in(task, State.CANCELED)

    def _failed(self, error_class: ErrorClass) -> Task:
        permanent = error_class is ErrorClass.PERMANENT
        code = ErrorCode.INVALID_INPUT if permanent else ErrorCode.UPSTREAM_ERROR
        held = self._claimed()
        self.worker.fail(held, Failure(code, "it broke", error_class))
        return self._in(held.task, State.FAILED if permanent else State.RETRYING)

    def _succeeded(self, **more: Any) -> Task:
        held = self._claimed(**more)
        file = Produced("vectors.npy", str(self.result), "application/octet-stream")
        self.worker.succeed(held, [file], '{"vectors":1}')
        return self._in(held.task, State.SUCCEEDED)

    def _owing(self) -> Task:
        from taskgate.gateway.door.chains import Step  # noqa: PLC0415 - a later version's
        from taskgate.task import Callback  # noqa: PLC0415

        hook = Callback("https://hooks.example.com/a?b=c", ("task.succeeded",))
        step = Step("embed_document", {"text": "then"}, callback=hook)
        return self._succeeded(callback=hook, then=[step])

    def _scheduled(self) -> Task:
        from taskgate.gateway.door.scheduling import Start  # noqa: PLC0415 - a later version's

        return self._submit(start=Start(delay=3600))

    def _in(self, task: Task, state: State) -> Task:
        found = self.ports.tasks.get(task.id)
        assert found is not None
        assert found.state is state, found.state
        return found


def _tried(case: Callable[[], Task]) -> Task | None:
    """None where this version does not know the case."""
    try:
        return case()
    except (ImportError, TypeError, AttributeError):
        return None


def _dump(table: str) -> list[Any]:
    return list(boto3.client("dynamodb").scan(TableName=table)["Items"])


def _plain(value: Any) -> str:
    return base64.b64encode(value).decode()


def main() -> None:
    """Record this version under the name on the command line."""
    os.environ |= {"AWS_ACCESS_KEY_ID": "test", "AWS_SECRET_ACCESS_KEY": "test"}
    os.environ |= {"AWS_DEFAULT_REGION": "us-east-1"}
    with mock_aws(), tempfile.TemporaryDirectory() as folder:
        recorder = Recorder(Path(folder))
        cases = recorder.cases()
        found = {
            "version": sys.argv[1],
            "recorded_at": int(time.time() * 1000),
            "cases": cases,
            "tasks": _dump(recorder.environment.tasks_table),
            "ephemeral": _dump(recorder.environment.ephemeral_table),
        }
    text = json.dumps(found, indent=1, default=_plain, sort_keys=True)
    (ITEMS / f"{sys.argv[1]}.json").write_text(text + "\n")


if __name__ == "__main__":
    main()
