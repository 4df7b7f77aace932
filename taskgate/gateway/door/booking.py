"""Where in its owner's ledger a new task is booked: the shard of its id, or one that has room."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from taskgate.errors import TooManyPendingTasks
from taskgate.ports import Ports, Replay, Submission
from taskgate.salvage import Salvage
from taskgate.shards import room_in
from taskgate.task import Task

TRIES: Final = 3


def create(ports: Ports, submission: Submission) -> Task | Replay | Salvage:
    """Put the task on record and return it; when its shard is full, it goes where there is most room,
    for 2 calls more.

    The shards' rooms add up to the limit, so that it holds over all of them with one guard on one
    item; and a task is refused for want of room only when no shard has any. Those who lose the last
    places to others at the same moment look again.
    """
    for _ in range(TRIES - 1):
        try:
            return ports.tasks.create(submission) or submission.task
        except TooManyPendingTasks:
            submission = _elsewhere(ports, submission)
    return ports.tasks.create(submission) or submission.task


def _elsewhere(ports: Ports, submission: Submission) -> Submission:
    """The same in the shard with most room; raises again when there is none in any."""
    task, shards = submission.task, submission.ledger_shards
    if shards == 1:
        raise TooManyPendingTasks
    pending = ports.tasks.pending(task.owner)
    room = {
        n: room_in(submission.max_pending, shards, n) - pending.get(n, 0) for n in range(shards)
    }
    # Of two that are alike the next one: else all who are turned away would meet in the first.
    best = max(room, key=lambda n: (room[n], -((n - task.ledger_shard) % shards)))
    if room[best] < 1:
        raise TooManyPendingTasks
    return replace(submission, task=replace(task, ledger_shard=best))
