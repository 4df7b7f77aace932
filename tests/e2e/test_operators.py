"""Dead letters, the hourly check and the operator's commands, against the deployed local stack.

The emulator holds each function to its role, so a right that is missing fails here.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from taskgate.aws.ports import build
from taskgate.catalog import CATALOG
from taskgate.cli.connection import LocalNote
from taskgate.gateway.door import submitting
from taskgate.gateway.door.submitting import SubmitRequest
from taskgate.lifecycle.retry import ErrorCode
from taskgate.lifecycle.states import State
from taskgate.local import LocalStack
from taskgate.ports import Ports
from taskgate.principal import SCOPES, Principal
from taskgate.settings import stage
from taskgate.task import Owner, Task
from tests.e2e.waiting import until
from tests.unit.cli.conftest import Run, run

__all__ = ["run"]

pytestmark = [pytest.mark.e2e, pytest.mark.xdist_group("operators")]

WHO = Principal(Owner("operators", "otto"), SCOPES, 100, "k1")
LANE = "cpu-normal"


@pytest.fixture
def ports(stack: LocalStack, monkeypatch: pytest.MonkeyPatch) -> Iterator[Ports]:
    for name, value in stack.client_variables.items():
        monkeypatch.setenv(name, value)
    ports = build(stack.environment)
    yield ports
    for port in (ports.tasks, ports.pulses, ports.lanes, ports.results):
        port._client.close()  # type: ignore[attr-defined]


@pytest.fixture
def local(stack: LocalStack, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A folder in which `--local` means this stack."""
    LocalNote(stack.api_url, "tg_none", stack.endpoint_url).write(tmp_path)
    monkeypatch.chdir(tmp_path)
    for name in ("AWS_REGION", "AWS_DEFAULT_REGION"):
        monkeypatch.setenv(name, "us-east-1")


def submitted(ports: Ports, stack: LocalStack) -> Task:
    request = SubmitRequest(type="embed_document", input={"text": "hello"})
    return submitting.submit(ports, CATALOG, stack.environment, WHO, request).task


def die(stack: LocalStack, body: str) -> None:
    """Put a message into the lane's dead-letter queue by hand."""
    url = f"{stack.environment.lanes[LANE]}-dead"
    stack.client("sqs").send_message(QueueUrl=url, MessageBody=body)


def taken(stack: LocalStack, task: Task) -> str:
    """The body of the task's message, which is then gone; others' of the session are passed over."""
    sqs, url = stack.client("sqs"), stack.environment.lanes[LANE]

    def mine() -> str | None:
        for message in sqs.receive_message(QueueUrl=url, WaitTimeSeconds=2).get("Messages", []):
            if json.loads(message["Body"])["task"] == task.id:
                sqs.delete_message(QueueUrl=url, ReceiptHandle=message["ReceiptHandle"])
                return str(message["Body"])
        return None

    return str(until(mine))


def kept(stack: LocalStack) -> list[dict[str, Any]]:
    s3, bucket = stack.client("s3"), stack.environment.results_bucket
    found = s3.list_objects_v2(Bucket=bucket, Prefix=f"dead/{LANE}/").get("Contents", [])
    return [
        json.loads(s3.get_object(Bucket=bucket, Key=row["Key"])["Body"].read()) for row in found
    ]


def checked(stack: LocalStack) -> dict[str, Any]:
    """One run of the hourly check."""
    name = f"{stage('local').prefix}-reconcile"
    answer = stack.client("lambda").invoke(FunctionName=name)
    assert "FunctionError" not in answer
    return dict(json.loads(answer["Payload"].read()))


def test_a_never_run_tasks_dead_message_is_sent_afresh_then_poison_then_redriven(
    stack: LocalStack, ports: Ports, local: None, run: Run
) -> None:
    task = submitted(ports, stack)
    body = taken(stack, task)
    die(stack, body)
    until(lambda: (ports.tasks.get(task.id) or task).resent_in == 0)
    assert json.loads(taken(stack, task))["task"] == task.id
    die(stack, body)
    ended = until(lambda: (t := ports.tasks.get(task.id)) and t.state.ended and t)
    assert (ended.state, ended.error.code) == (State.FAILED, ErrorCode.POISON)
    assert [letter["body"] for letter in kept(stack)].count(body) == 2
    assert ports.tasks.ledger(WHO.owner).balanced

    shown = run("redrive", "--local", "--code", "poison", "--json")
    # Other tests of this stack leave poison too.
    assert task.id in [t["id"] for t in json.loads(shown.stdout)["tasks"]]
    assert run("redrive", "--local", "--code", "poison", "--apply").code == 0
    after = ports.tasks.get(task.id)
    assert after is not None
    assert (after.state, after.generation) == (State.QUEUED, 1)
    taken(stack, task)


def test_what_is_no_message_of_ours_is_kept_and_gone_from_the_queue(
    stack: LocalStack, ports: Ports
) -> None:
    die(stack, "not json at all")
    until(lambda: "not json at all" in [letter["body"] for letter in kept(stack)])
    sqs, url = stack.client("sqs"), f"{stack.environment.lanes[LANE]}-dead"
    names = ["ApproximateNumberOfMessages", "ApproximateNumberOfMessagesNotVisible"]

    def empty() -> bool:
        found = sqs.get_queue_attributes(QueueUrl=url, AttributeNames=names)["Attributes"]
        return all(found[name] == "0" for name in names)

    until(empty)
    assert "not json at all" in [letter["body"] for letter in kept(stack)]


def test_the_check_finds_nothing_then_a_drift_and_the_command_repairs_it(
    stack: LocalStack, ports: Ports, local: None, run: Run
) -> None:
    task = submitted(ports, stack)
    taken(stack, task)
    assert checked(stack) == {"finished": True, "unaccounted": 0}
    stack.client("dynamodb").update_item(
        TableName=stack.environment.tasks_table,
        Key={"pk": {"S": f"LEDGER#{WHO.owner}"}, "sk": {"S": "0"}},
        UpdateExpression="ADD #submitted :three",
        ExpressionAttributeNames={"#submitted": "submitted"},
        ExpressionAttributeValues={":three": {"N": "3"}},
    )
    assert checked(stack)["unaccounted"] == 3
    assert run("reconcile", "--local").code == 1
    assert run("reconcile", "--local", "--apply").code == 0
    assert checked(stack)["unaccounted"] == 0
    assert ports.tasks.ledger(WHO.owner).balanced
