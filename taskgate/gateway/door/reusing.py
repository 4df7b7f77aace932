"""A submit that is given a kept result: its task ends in the very write that puts it on record."""

from __future__ import annotations

from dataclasses import replace

from taskgate.catalog import TaskType
from taskgate.errors import Refused, TaskNotFound, Unavailable
from taskgate.events import event, swallowed, transition
from taskgate.gateway.stamps import stamp
from taskgate.gateway.steer.steering import changed
from taskgate.lifecycle import owing, transitions
from taskgate.lifecycle.change import Change
from taskgate.lifecycle.states import State
from taskgate.lifecycle.transitions import Outcome
from taskgate.ports import Ports, Replay, Submission
from taskgate.salvage import Reuse, Salvage, fingerprint
from taskgate.task import Duty, ResultFile, Task


def wanted(kind: TaskType, task: Task, text: str) -> Reuse | None:
    """What a task that would start now may be given instead of a run."""
    if task.state is not State.CREATED:
        return None
    mark = fingerprint(kind.name, kind.version, text)
    return Reuse(mark, likely=kind.reuse_results is not None)


def give(ports: Ports, submission: Submission, salvage: Salvage) -> Task | Replay | None:
    """The task, ended with a copy of the result; None when the result is not to be had after all.

    The copy is the new task's own: whatever becomes of the old one's files, it stays.
    """
    task = submission.task
    files = _copied(ports, task, salvage)
    if files is None:
        event("salvage_gone", task=task.id, source=salvage.source)
        return None
    made = stamp(ports.now(), task.history[0].actor, f"reused from {salvage.source}")
    change = transitions.reuse(task, made, Outcome(files, salvage.output), salvage.source)
    assert change.after is not None  # noqa: S101 - it was built from a task
    try:
        takes = replace(submission, task=change.after, reuse=None, takes=salvage)
        replay = ports.tasks.create(takes)
    except Refused:
        # Another submit was quicker; what was copied goes with the bucket's own rule.
        event("salvage_outrun", task=task.id, source=salvage.source)
        return None
    if isinstance(replay, Replay):
        return replay
    transition(change, task, change.after)
    event("result_reused", task=task.id, type=task.type, source=salvage.source)
    if salvage.once:
        _note_gift(ports, salvage.source, change.after)
    return change.after


def _note_gift(ports: Ports, source: str, taker: Task) -> None:
    """The one that brought it says so, and owes the removal of its bytes now: 2 calls."""
    made = stamp(ports.now(), taker.history[0].actor)

    def change(task: Task) -> Change | None:
        owes_it = Duty.SALVAGE in task.owes and task.given_to is None
        return owing.given_away(task, made, taker.id) if owes_it else None

    try:
        if known := ports.tasks.get(source):
            changed(ports, known, change)
    except (TaskNotFound, Unavailable) as error:
        # It still says that it is kept; whoever asks for it runs, and its bytes go in their time.
        swallowed("gift_not_noted", error, task=source)


def _copied(ports: Ports, task: Task, salvage: Salvage) -> tuple[ResultFile, ...] | None:
    """Under the number of no attempt: no worker writes there, and no clean-up removes it."""
    copies = []
    for file in salvage.files:
        key = f"r/{task.owner.tenant}/{task.id}/0/{file.name}"
        try:
            copied = ports.results.copy(file.key, key)
        except Unavailable as error:
            # A kept result is a gift: a bucket that is away is no reason not to accept the task.
            swallowed("salvage_not_copied", error, task=task.id)
            return None
        if not copied:
            return None
        copies.append(replace(file, key=key))
    return tuple(copies)
