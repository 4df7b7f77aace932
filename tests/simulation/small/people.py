"""What people do in a small world: they hand the task in, cancel it, move it to another lane."""

from __future__ import annotations

from collections.abc import Iterator

from taskgate.lifecycle import transitions
from taskgate.lifecycle.retry import ErrorCode
from taskgate.lifecycle.states import RULES, State, Verb
from taskgate.task import CancelMode, Task
from tests.simulation.small.world import (
    API,
    CANCELER,
    STAMP,
    Msg,
    World,
    delay,
    new,
    reread,
    sent,
    signaled,
    written,
)


def submit(w: World) -> Iterator[tuple[str, World]]:
    """On record first, then its message, then the mark that it was sent."""
    match w.api:
        case "create":
            made = w._replace(record=new(w.budgets), books=(1, 1, 0), api="send")
            yield "submit", made._replace(fresh=(True, True, True))
        case "send":
            yield "send", sent(w, Msg(0))._replace(api="mark")
        case "mark" if w.fresh[API]:
            assert w.task is not None
            yield "mark", written(w, transitions.enqueue(w.task, STAMP))._replace(api="done")
        case "mark":
            yield "mark refused", w._replace(api="done")
    if w.api in {"send", "mark"} and w.deaths:
        yield "api dies", w._replace(api="done", deaths=w.deaths - 1)


def cancel(w: World, task: Task) -> Iterator[tuple[str, World]]:
    """Read, write, and leave the word for the worker that runs it."""
    match w.canceler.split():
        case ["read"]:
            yield "cancel reads", reread(w, CANCELER)._replace(canceler="write")
        case ["write"] if task.state.ended or _under_way(task, w.cancels[0]):
            yield "cancel is too late", _asked(w)
        case ["write"] if not w.fresh[CANCELER]:
            yield "cancel reads again", reread(w, CANCELER)
        case ["write"]:
            yield "cancel", _canceled(w, task)
        case ["tell", attempt]:
            yield "cancel tells", _asked(signaled(w, int(attempt), f"cancel_{w.cancels[0]}"))
    if w.canceler not in {"read", "done"} and w.deaths:
        yield "canceler dies", _asked(w)._replace(deaths=w.deaths - 1)


def move(w: World, task: Task) -> Iterator[tuple[str, World]]:
    """Read and write, then the message in the other lane."""
    match w.mover.split():
        case ["move"] if task.state in RULES[Verb.PRIORITIZE].sources:
            after = written(w, transitions.prioritize(task, STAMP, "m"))
            sends = after.task and after.task.state in {State.QUEUED, State.RETRYING}
            yield "moves", after._replace(mover=f"send {task.attempt}" if sends else "done")
        case ["send", attempt]:
            message = Msg(int(attempt), delay(task, int(attempt)), lane="m")
            yield "mover sends", sent(w, message)._replace(mover="done")
            if w.deaths:
                yield "mover dies", w._replace(mover="done", deaths=w.deaths - 1)


def _canceled(w: World, task: Task) -> World:
    change = transitions.cancel(task, STAMP, w.cancels[0], ErrorCode.CANCELED_BY_USER)
    after = written(w, change)
    told = after.task is not None and after.task.state is State.CANCELING
    return after._replace(canceler=f"tell {task.attempt}") if told else _asked(after)


def _under_way(task: Task, mode: CancelMode) -> bool:
    return task.state is State.CANCELING and not transitions.hardens(task, mode)


def _asked(w: World) -> World:
    """This cancel is done with; the next one may be asked for."""
    left = w.cancels[1:]
    return w._replace(canceler="read" if left else "done", cancels=left or w.cancels)
