"""After a soak: wait until nothing is left to do, then count every task and every callback."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import suppress

from taskgate.aws.audit import DynamoAudit
from taskgate.bulks import BulkState
from taskgate.gateway.announcing import message_id
from taskgate.gateway.office.reconciling import reconcile
from taskgate.gateway.outbox.following import child_id
from taskgate.lifecycle.states import State, Verb
from taskgate.local import LocalStack
from taskgate.ports import Ports
from taskgate.task import CallbackState, Duty, Owner, Task
from taskgate.testing.receiver import Arrived
from tests.soak.figures import Figures


class Count:
    """Looks at the records, the books and what the receiver got; by its own calls, not the API's."""

    def __init__(
        self,
        stack: LocalStack,
        ports: Ports,
        owner: Owner,
        ids: Sequence[str],
        figures: Figures,
    ) -> None:
        self.stack, self.ports, self.owner, self.figures = stack, ports, owner, figures
        self.ids = list(ids)

    def settled(self) -> bool:
        """Whether every task has ended and owes nothing but a kept result's end."""
        acts = self.ports.bulks.list_bulks().rows if self.ports.bulks else []
        if any(bulk.state is BulkState.RUNNING for bulk in acts):
            return False
        return all(task is not None and _at_rest(task) for _, task in self._tasks())

    def bring_forward(self) -> None:
        """Callbacks are tried again after minutes and hours: their time has come."""
        now = self.ports.now()
        for _, task in self._tasks():
            if task is not None and Duty.CALLBACK in task.owes and (task.owed_at or 0) > now:
                self._now_due(task, now)
        self.stack.settle()

    def count(self, arrived: Sequence[Arrived]) -> None:
        """All figures that are not known yet."""
        figures, told = self.figures, _by_event(arrived)
        figures.submitted = len(self.ids)
        for task_id, task in self._tasks():
            if task is None or not task.state.ended:
                figures.lost.append(f"{task_id} {task.state if task else 'gone'}")
                continue
            figures.children += task_id not in self.ids
            figures.states[task.state.value] += 1
            self._tell(task)
            if task.callback is not None:
                figures.owed += 1
                delivered = task.callback.state is CallbackState.DELIVERED
                if not (delivered and message_id(task) in told):
                    figures.untold.append(task_id)
        figures.requests = len(arrived)
        figures.mistold += [event for event, bodies in told.items() if len(bodies) > 1]
        figures.mistold += [one.problem for one in arrived if one.problem]
        self._books()

    def _books(self) -> None:
        books = self.ports.tasks.ledger(self.owner)
        # What was accepted and never answered is in the books, and nowhere else in our hands.
        unended = [i for i in books.active if not _ended(self.ports.tasks.get(i))]
        self.figures.unaccounted = len(unended) + (not books.balanced)
        self.figures.differences = self._reconcile()

    def _reconcile(self) -> int:
        """Differences that the proof of all books and clocks finds; a broken proof counts too."""
        stack = self.stack
        audit = DynamoAudit(
            stack.client("dynamodb"),
            table=stack.environment.tasks_table,
            clock_shards=stack.environment.clock_shards,
        )
        stop_at = self.ports.now() + 300_000
        report = reconcile(self.ports, audit, apply=False, segments=range(4), of=4, stop_at=stop_at)
        for difference in report.differences[:5]:
            print(f"difference: {difference}")  # noqa: T201 - evidence
        return len(report.differences) + (not report.finished)

    def _tell(self, task: Task) -> None:
        figures = self.figures
        refused = [entry.reason.startswith("refused") for entry in task.history]
        figures.late += sum(refused)
        for entry, late in zip(task.history, refused, strict=True):
            figures.verbs[entry.verb.value] += not late
            figures.verbs["retrying"] += entry.to is State.RETRYING and not late
        effective = zip(task.history, refused, strict=True)
        if sum(entry.verb is Verb.SUCCEED and not late for entry, late in effective) > 1:
            figures.doubled.append(task.id)
        if task.reused_from:
            figures.given[task.reused_from] += 1
            if figures.given[task.reused_from] > 1:
                figures.doubled.append(task.reused_from)

    def _tasks(self) -> Iterator[tuple[str, Task | None]]:
        """Those that were promised, and those that follow them."""
        for task_id in self.ids:
            task = self.ports.tasks.get(task_id)
            yield task_id, task
            for index in range(task.follow_ups if task else 0):
                follow = child_id(task_id, index)
                yield follow, self.ports.tasks.get(follow)

    def _now_due(self, task: Task, now: int) -> None:
        dynamodb = self.stack.client("dynamodb")
        # Somebody was quicker: then it is due already, or done.
        with suppress(dynamodb.exceptions.ConditionalCheckFailedException):
            dynamodb.update_item(
                TableName=self.stack.environment.tasks_table,
                Key={"pk": {"S": f"TASK#{task.id}"}, "sk": {"S": "TASK"}},
                UpdateExpression="SET #owed = :now, #due = :now",
                ConditionExpression="#owed = :seen",
                ExpressionAttributeNames={"#owed": "owed_at", "#due": "due_at"},
                ExpressionAttributeValues={
                    ":now": {"N": str(now)},
                    ":seen": {"N": str(task.owed_at)},
                },
            )


def _at_rest(task: Task) -> bool:
    return task.state.ended and not set(task.owes) - {Duty.SALVAGE}


def _ended(task: Task | None) -> bool:
    return task is not None and task.state.ended


def _by_event(arrived: Sequence[Arrived]) -> dict[str, set[bytes]]:
    bodies: dict[str, set[bytes]] = defaultdict(set)
    for one in arrived:
        bodies[one.headers.get("webhook-id", "")].add(one.body)
    return bodies
