"""Events for other systems on the deployed stack: real stream, real function and rights, real rule."""

from __future__ import annotations

import json
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import Any

import pytest

from taskgate.apikeys import issue
from taskgate.aws.keys import DynamoKeys
from taskgate.client import Taskgate
from taskgate.local import LocalStack
from taskgate.principal import USER_SCOPES
from taskgate.task import Owner
from taskgate.testing.receiver import Receiver
from tests.e2e.waiting import PATIENCE

pytestmark = [pytest.mark.e2e, pytest.mark.xdist_group("event-bus")]

QUICK = {"prompt": "x", "steps": 1, "width": 64, "height": 64}
OWNER = Owner("heard", "hedy")


@pytest.fixture(scope="module")
def listening(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalStack]:
    """A stack of its own: no other stage has a bus."""
    with LocalStack(folder=tmp_path_factory.mktemp("stack"), event_bus=True) as stack:
        yield stack


@pytest.fixture(scope="module")
def client(listening: LocalStack) -> Iterator[Taskgate]:
    keys = DynamoKeys(listening.client("dynamodb"), table=listening.environment.tasks_table)
    key = issue(keys, OWNER, USER_SCOPES, max_pending=50)
    with Taskgate(listening.api_url, key) as made:
        yield made


class Subscriber:
    """Another system: a rule on the bus with a queue for its target."""

    def __init__(self, stack: LocalStack, name: str, pattern: dict[str, Any]) -> None:
        self._sqs, events = stack.client("sqs"), stack.client("events")
        bus = stack.environment.event_bus
        self._url = self._sqs.create_queue(QueueName=name)["QueueUrl"]
        attributes = self._sqs.get_queue_attributes(QueueUrl=self._url, AttributeNames=["QueueArn"])
        arn = attributes["Attributes"]["QueueArn"]
        events.put_rule(Name=name, EventBusName=bus, EventPattern=json.dumps(pattern))
        events.put_targets(Rule=name, EventBusName=bus, Targets=[{"Id": "queue", "Arn": arn}])
        self.heard: dict[str, list[dict[str, Any]]] = defaultdict(list)
        """By task."""
        self.silent = False
        """The queue had nothing when it was last asked."""

    def listen(self, enough: Callable[[], bool], seconds: float) -> None:
        """Hear what comes until it is enough."""
        give_up = time.monotonic() + seconds
        while not enough():
            assert time.monotonic() < give_up, self.heard
            answer = self._sqs.receive_message(
                QueueUrl=self._url, WaitTimeSeconds=1, MaxNumberOfMessages=10
            )
            found = answer.get("Messages", [])
            self.silent = not found
            for message in found:
                event = json.loads(message["Body"])
                self.heard[event["detail"]["id"]].append(event)
                self._sqs.delete_message(QueueUrl=self._url, ReceiptHandle=message["ReceiptHandle"])

    def count(self) -> int:
        return sum(map(len, self.heard.values()))

    def kinds(self, task_id: str) -> list[str]:
        """In the order of the task's versions: a queue may shuffle them."""
        found = sorted(self.heard[task_id], key=lambda event: event["detail"]["version"])
        return [event["detail-type"] for event in found]


def test_the_bus_hears_a_whole_life_once_in_order_and_a_rule_picks_what_it_wants(
    listening: LocalStack, client: Taskgate
) -> None:
    all_ = Subscriber(listening, "all", {"source": ["taskgate"]})
    ended = {"detail-type": ["Task Canceled"], "detail": {"tenant": [OWNER.tenant]}}
    canceled = Subscriber(listening, "canceled", ended)
    with Receiver(secrets=client.webhook_secrets()) as receiver:
        ran = client.submit("text_to_image", QUICK, callback_url=receiver.url)
        worker = listening.start_worker("gpu")
        ran.wait(timeout=PATIENCE)
        receiver.wait_for(1, PATIENCE)
        # Asking for the callback again stands in the history, and is no second end.
        ran.redeliver()
        receiver.wait_for(2, PATIENCE)
        worker.stop()
    called_off = client.submit("text_to_image", QUICK, delay=3600)
    called_off.cancel("hard", reason="changed my mind")
    # One more is not to come: the queue is asked once more after all six have.
    all_.listen(lambda: all_.silent and all_.count() >= 6, PATIENCE)
    canceled.listen(lambda: bool(canceled.heard), PATIENCE)

    assert all_.kinds(ran.id) == [
        "Task Created",
        "Task Queued",
        "Task Processing",
        "Task Succeeded",
    ]
    assert all_.kinds(called_off.id) == ["Task Scheduled", "Task Canceled"]
    assert set(canceled.heard) == {called_off.id}
    _fits_the_record(all_.heard[ran.id], ran.get())
    print("heard:", all_.kinds(ran.id), all_.kinds(called_off.id))  # noqa: T201 - the show


def _fits_the_record(events: list[dict[str, Any]], task: Any) -> None:
    """Each event says who, what and when, as the task's own history does."""
    details = sorted((event["detail"] for event in events), key=lambda detail: detail["version"])
    told = [entry for entry in task.history if entry.verb != "redeliver"]
    assert [(d["verb"], d["state"], d["actor"]) for d in details] == [
        (entry.verb, entry.to, entry.actor) for entry in told
    ]
    assert [d["from"] for d in details] == [None, *(d["state"] for d in details[:-1])]
    assert all(one["version"] < other["version"] for one, other in pairwise(details))
    assert {(d["tenant"], d["user"], d["type"]) for d in details} == {
        (OWNER.tenant, OWNER.user, "text_to_image")
    }
    assert all(event["source"] == "taskgate" for event in events)
