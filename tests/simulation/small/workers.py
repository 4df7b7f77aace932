"""Workers and their queue in a small world: what `gateway.work` does, one call a step."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from taskgate.gateway.outbox import salvaging
from taskgate.lifecycle import transitions
from taskgate.lifecycle.change import Change
from taskgate.lifecycle.retry import ErrorClass, ErrorCode, GiveUp, RetryAt
from taskgate.lifecycle.states import State
from taskgate.lifecycle.transitions import Outcome
from taskgate.lifecycle.verdict import ClaimStep, judge_refusal
from taskgate.salvage import Salvage
from taskgate.task import Task, TaskError
from tests.simulation.small.world import (
    LEASE,
    LIMITS,
    NOW,
    STAMP,
    TASKS,
    TICK,
    Broken,
    Msg,
    Pulse,
    Worker,
    World,
    beat_at,
    delay,
    sent,
    slim,
    ticks,
    write,
    written,
)

Steps = Iterator[tuple[str, World]]

BROKEN: Final = TaskError(ErrorCode.MODEL_ERROR, "", ErrorClass.TRANSIENT)


def queue(w: World) -> Steps:
    """SQS is at least once: it may show a message again, at any time, to anybody."""
    if w.copies:
        for message in dict.fromkeys(w.msgs):
            again = message._replace(hidden=0, receipt=-1)
            yield "sqs duplicates", sent(w, again)._replace(copies=w.copies - 1)
    if w.deaths:
        for message in dict.fromkeys(w.msgs):
            yield "sqs loses", _without(w, message)._replace(deaths=w.deaths - 1)


def work(w: World, i: int) -> Steps:
    """The next step of a worker, by where it is; each but an idle one may die."""
    me = w.workers[i]
    match me.phase.split():
        case ["idle"]:
            yield from _receive(w, i)
        case ["got", attempt, lane]:
            yield from _claim(w, i, int(attempt), lane)
        case ["again", lane]:
            yield from _claim_again(w, i, lane)
        case ["running"]:
            yield from _run(w, i)
        case ["keeping"]:
            yield from _keep(w, i)
        case ["stopping"]:
            yield from _end(w, i, "stops", _stopped(w, i))
        case _:
            yield from _requeue(w, i)
    if me.phase != "idle" and w.deaths:
        yield f"w{i} dies", _be(w, i, "idle")._replace(deaths=w.deaths - 1)


# ---- claims -------------------------------------------------------------------------------------


def _receive(w: World, i: int) -> Steps:
    for message in dict.fromkeys(m for m in w.msgs if m.hidden == 0):
        taken = message._replace(hidden=LEASE, receipt=i)
        got = _be(_without(w, message), i, f"got {message.attempt} {message.lane}")
        yield f"w{i} receives", sent(got, taken)


def _claim(w: World, i: int, attempt: int, lane: str) -> Steps:
    after = write(w, transitions.claim("task_1", attempt, STAMP, "w", LIMITS.lease, lane))
    if after is not None:
        _was_in(lane, after)
        yield f"w{i} claims", _be(after, i, "running", after.task)
        return
    beat = beat_at(w, w.task) if w.task else None
    verdict = judge_refusal(w.task, beat, NOW, receives=1, lane=lane)
    match verdict.step:
        case ClaimStep.DROP:
            yield f"w{i} drops", _be(_forget(w, i), i, "idle")
        case ClaimStep.HIDE:
            yield f"w{i} hides", _be(_hide(w, i, ticks(verdict.hide_ms)), i, "idle")
        case _:
            yield f"w{i} sees {verdict.step}", _be(w, i, f"again {lane}", w.task)


def _was_in(lane: str, after: World) -> None:
    if after.task is not None and after.task.lane != lane:
        raise Broken("a message of a lane that the task had left was good for a claim")


def _claim_again(w: World, i: int, lane: str) -> Steps:
    seen = _copy(w, i)
    if seen.state in {State.PROCESSING, State.STALLED}:
        change = transitions.take_over(seen, STAMP, "w")
    else:
        change = transitions.claim(seen.id, seen.attempt, STAMP, "w", LIMITS.lease, lane)
    after = write(w, change)
    if after is None:
        yield f"w{i} is refused again", _be(_hide(w, i, 1), i, "idle")
    else:
        yield f"w{i} {change.verb}", _be(after, i, "running", after.task)


# ---- runs and their ends ------------------------------------------------------------------------


def _run(w: World, i: int) -> Steps:
    copy = _copy(w, i)
    yield from _beat(w, i, copy.attempt)
    yield from _end(w, i, "succeeds", transitions.succeed(copy, STAMP, Outcome()))
    if copy.budgets.retries.limit:
        left = copy.budgets.retries.left
        decision = RetryAt(NOW + TICK) if left else GiveUp("")
        failed = transitions.fail(copy, STAMP, BROKEN, decision)
        yield from _end(w, i, "fails", failed, then="send" if left else "delete")
    if copy.budgets.interruptions.left:
        yield from _end(w, i, "hands back", transitions.hand_back(copy, STAMP, None), "resume")


def _beat(w: World, i: int, mine: int) -> Steps:
    attempt, beat, signal = w.pulse or Pulse(mine)
    if attempt > mine or (attempt == mine and signal == "lost"):
        yield f"w{i} learns that it lost", _be(w, i, "idle")
        return
    told = signal if attempt == mine else ""
    if (attempt, beat) == (mine, 0) and told in {"", "cancel_soft"}:
        return  # it has just beaten
    beaten = _hide(w._replace(pulse=Pulse(mine, 0, told)), i, LEASE)
    # A soft cancel lets the run go on.
    stops = told and told != "cancel_soft"
    yield f"w{i} beats", _be(beaten, i, "stopping", _copy(w, i)) if stops else beaten


def _end(w: World, i: int, name: str, change: Change | None, then: str = "delete") -> Steps:
    after = write(w, change) if change else None
    if after is not None:
        yield f"w{i} {name}", _be(after, i, then, after.task)
        return
    copy = _copy(w, i)
    canceling = w.task is not None and w.task.state is State.CANCELING
    mine = w.task is not None and copy.attempt == w.task.attempt
    if name == "succeeds" and salvaging.soft(w.task, copy.attempt):
        yield f"w{i} {name}: canceled softly", _be(w, i, "keeping", copy)
    elif canceling and mine and name != "stops":
        yield f"w{i} {name}: canceled meanwhile", _be(w, i, "stopping", copy)
    else:
        yield f"w{i} {name}: refused", _be(w, i, "idle")


def _keep(w: World, i: int) -> Steps:
    """The worker has read the task, and writes its end with the result, if it is still soft."""
    task = w.task
    if task is None or not salvaging.soft(task, _copy(w, i).attempt):
        yield f"w{i} keeps nothing", _be(w, i, "stopping", _copy(w, i))
        return
    salvage = Salvage(
        owner=task.owner, fingerprint="f", source=task.id, files=(), output=None, expires_at=1,
        once=True,
    )  # fmt: skip
    after = written(w, transitions.stopped(task, STAMP, salvage=salvage))
    yield f"w{i} keeps the result", _be(after, i, "delete")


def _stopped(w: World, i: int) -> Change | None:
    task = w.task
    if task is None or task.state is not State.CANCELING or task.attempt != _copy(w, i).attempt:
        return None
    return transitions.stopped(task, STAMP)


def _requeue(w: World, i: int) -> Steps:
    """After an end or a hand-back: what waits again is sent, and the old message deleted."""
    match w.workers[i].phase:
        case "resume":
            yield from _resume(w, i)
        case "send":
            again = Msg(_copy(w, i).attempt, _wait(w, i), lane=_copy(w, i).lane)
            yield f"w{i} sends", _be(sent(w, again), i, "delete")
        case "delete":
            yield f"w{i} deletes", _be(_forget(w, i), i, "idle")


def _resume(w: World, i: int) -> Steps:
    task = w.task
    assert task is not None
    if task.state is not State.PAUSED:
        yield f"w{i} finds it resumed", _be(w, i, "idle")
        return
    after = written(w, transitions.resume(task, STAMP))
    yield f"w{i} resumes", _be(after, i, "send", after.task)


# ---- what a worker remembers --------------------------------------------------------------------


def _copy(w: World, i: int) -> Task:
    copy = w.workers[i].copy
    assert copy is not None
    return copy


def _wait(w: World, i: int) -> int:
    return delay(w.task, _copy(w, i).attempt) if w.task else 0


def _be(w: World, i: int, phase: str, copy: Task | None = None) -> World:
    """Where the worker is now. An idle one holds no receipt: its next message has another."""
    workers = list(w.workers)
    workers[i] = Worker(phase, TASKS.of(slim(copy)))
    w = w._replace(workers=tuple(workers))
    if phase != "idle":
        return w
    left = (m._replace(receipt=-1) if m.receipt == i else m for m in w.msgs)
    return w._replace(msgs=tuple(sorted(left)))


def _hide(w: World, i: int, for_ticks: int) -> World:
    """As SQS does: a message that shows again is not hidden by a receipt of before."""
    mine = [m.receipt == i and m.hidden > 0 for m in w.msgs]
    hidden = (m._replace(hidden=for_ticks) if h else m for m, h in zip(w.msgs, mine, strict=True))
    return w._replace(msgs=tuple(sorted(hidden)))


def _forget(w: World, i: int) -> World:
    return w._replace(msgs=tuple(m for m in w.msgs if m.receipt != i))


def _without(w: World, message: Msg) -> World:
    left = list(w.msgs)
    left.remove(message)
    return w._replace(msgs=tuple(left))
