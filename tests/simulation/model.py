"""A small world, walked completely: one task, two workers, a sweep, a cancel, a move to another
lane, SQS at its worst.

The state is a value; `steps` yields every state that one atomic step of any actor leads to. An
actor may die between any two of its steps. The life cycle is the real one: `transitions`, `judge`
and `judge_refusal` decide; the model only holds what the outside world remembers.

Time is in ticks of one second and always relative to now, so that equal situations at different
times are one state.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, Final

from taskgate.gateway.outbox import salvaging
from taskgate.lifecycle import transitions
from taskgate.lifecycle.change import Change, Stamp, applied, rearmed
from taskgate.lifecycle.retry import Budget, Budgets, ErrorClass, ErrorCode, GiveUp, RetryAt
from taskgate.lifecycle.states import HELD, RULES, State, Verb
from taskgate.lifecycle.transitions import Outcome
from taskgate.lifecycle.verdict import ClaimStep, Step, judge, judge_refusal
from taskgate.salvage import Salvage
from taskgate.task import CancelMode, Limits, Owner, Task, TaskError

TICK: Final = 1_000
LEASE: Final = 2
LIMITS: Final = Limits(
    queue_timeout=3 * TICK,
    run_timeout=3 * TICK,
    max_run=3 * TICK,
    deadline=4 * TICK,
    redeliver_after=2 * TICK,
    max_redeliveries=1,
    lease=LEASE * TICK,
    send_check=1 * TICK,
    stall_grace=1 * TICK,
    cancel_grace=1 * TICK,
)
TIMES: Final = (
    "since", "deadline_at", "due_at", "queued_at", "sent_at", "started_at", "not_before",
    "resume_at",
)  # fmt: skip
BROKEN: Final = TaskError(ErrorCode.MODEL_ERROR, "", ErrorClass.TRANSIENT)


@dataclass(frozen=True, slots=True, order=True)
class Msg:
    """A message: the attempt it names, ticks until it is visible, whose receipt is the last, and
    the lane that it is in.
    """

    attempt: int
    hidden: int = 0
    receipt: int = -1
    lane: str = "l"


_TASKS: Final[list[Task | None]] = [None]
_NUMBERS: Final[dict[Task | None, int]] = {None: 0}


def number(task: Task | None) -> int:
    """A task as a small number: a state is hashed a million times, a task once."""
    if task not in _NUMBERS:
        _NUMBERS[task] = len(_TASKS)
        _TASKS.append(task)
    return _NUMBERS[task]


@dataclass(frozen=True, slots=True, order=True)
class Worker:
    """What a worker process remembers: where it is, and its copy of the task."""

    phase: str = "idle"
    held: int = 0

    @property
    def copy(self) -> Task | None:
        return _TASKS[self.held]


@dataclass(frozen=True, slots=True)
class World:
    """Everything, as of now."""

    record: int = 0
    pulse: tuple[int, int | None, str] | None = None
    """(attempt, ticks since the last beat or None, signal)."""
    msgs: tuple[Msg, ...] = ()
    workers: tuple[Worker, ...] = (Worker(), Worker())
    api: str = "create"
    canceler: str = "read"
    cancels: tuple[CancelMode, ...] = (CancelMode.HARD,)
    """The cancels that are still to be asked for, in turn."""
    mover: str = "done"
    """Who gives the task another priority; what it reads and writes is one guarded step."""
    sweep: tuple[str, Any] = ("idle", None)
    fresh: tuple[bool, bool, bool] = (True, True, True)
    """Whether what api, canceler and sweep have read is still the task as it stands."""
    deaths: int = 0
    """How many more times an actor may die between two steps, or SQS lose a message."""
    copies: int = 0
    """How many more times SQS may show a message that it has already shown."""
    budgets: tuple[int, int, int] = (0, 1, 0)
    """(retries, crashes, interruptions) of the task."""
    results: int = 0
    kept: int = 0
    """Results of a soft-cancelled run that wait for the next identical submit."""
    books: tuple[int, int, int] = (0, 0, 0)
    """(submitted, active, ended)."""

    @property
    def task(self) -> Task | None:
        return _TASKS[self.record]

    def canonical(self) -> World:
        """The state without what nobody will ever look at; the two workers are alike."""
        busy = (self.api in {"send", "mark"}, self.canceler == "write", self.sweep[0] == "act")
        fresh = tuple(f or not b for f, b in zip(self.fresh, busy, strict=True))
        first, second = self.workers[0], self.workers[-1]
        if first <= second:
            return replace(self, fresh=fresh) if fresh != self.fresh else self
        msgs = (replace(m, receipt=1 - m.receipt) if m.receipt >= 0 else m for m in self.msgs)
        return replace(self, workers=(second, first), msgs=tuple(sorted(msgs)), fresh=fresh)


API, CANCELER, SWEEP = range(3)


class Broken(AssertionError):
    """An invariant does not hold."""


def steps(w: World) -> Iterator[tuple[str, World]]:
    """Every step that any actor may take next, with its name."""
    yield from _submit(w)
    yield from _cancel(w)
    yield from _move(w)
    yield from _sweep(w)
    for i in range(len(w.workers)):
        yield from _work(w, i)
    yield from _queue(w)
    if w.task is not None and w.task.deadline_at > -2 * TICK and tick(w) != w:
        yield "tick", tick(w)


def tick(w: World) -> World:
    """One second passes, for everybody."""
    attempt, beat, signal = w.pulse or (0, None, "")
    older = None if beat is None else min(beat + 1, LEASE + 1)
    return replace(
        w,
        record=_aged(w.record),
        pulse=w.pulse and (attempt, older, signal),
        msgs=tuple(sorted(replace(m, hidden=max(0, m.hidden - 1)) for m in w.msgs)),
        workers=tuple(replace(x, held=_aged(x.held)) for x in w.workers),
    )


def sweep_whole(w: World) -> World:
    """One whole run of the sweep, nobody else moving."""
    w = replace(w, sweep=("idle", None))
    while True:
        nexts = [n for name, n in _sweep(w) if not name.endswith("dies")]
        if not nexts:
            return w
        w = nexts[0]
        if w.sweep[0] == "idle":
            return w


@functools.cache
def _aged(record: int) -> int:
    task = _TASKS[record]
    if task is None or task.state.ended:
        return record
    times = {
        name: max(value - TICK, -9 * TICK)
        for name in TIMES
        if (value := getattr(task, name)) is not None
    }
    return number(replace(task, **times))


# ---- writes -------------------------------------------------------------------------------------


def _apply(w: World, change: Change) -> World | None:
    """The guarded write; None when it is refused. Checks what every write must keep."""
    task = w.task
    if task is None or not change.guard.admits(task) or not _quiet(w, change):
        return None
    after = _bare(applied(task, change))
    if task.state.ended:
        raise Broken(f"{change.verb} left {task.state}")
    submitted, active, ended = w.books
    if change.ledger:
        active, ended = active - 1, ended + 1
    if change.verb is Verb.TAKE_OVER:
        _was_silent(w, task)
    results = w.results + (change.verb is Verb.SUCCEED)
    return replace(
        w,
        record=number(after),
        books=(submitted, active, ended),
        results=results,
        kept=w.kept + (change.salvage is not None),
        fresh=(False, False, False),
    )


def _was_silent(w: World, task: Task) -> None:
    attempt, beat, _ = w.pulse or (0, None, "")
    if attempt == task.attempt and beat is not None and beat <= LEASE - 1:
        raise Broken("a live worker's task was taken")


def _bare(task: Task) -> Task:
    """Without what only tells the past, or no rule of this state reads."""
    task = replace(task, version=0, op_id="", history=(), worker=None, error=None, ended_at=None)
    if task.state.ended:
        nothing = dict.fromkeys(("queued_at", "sent_at", "started_at", "not_before", "resume_at"))
        return replace(
            task, since=0, deadline_at=0, sends=0, due_at=task.due_at and 0, owed_at=None, **nothing
        )
    if task.state in HELD:
        nothing = dict.fromkeys(("queued_at", "sent_at", "not_before", "resume_at"))
        return replace(task, sends=0, **nothing)
    return replace(task, started_at=None)


def _slim(copy: Task | None) -> Task | None:
    """What a worker's copy is good for: the attempt, the budgets, the deadline."""
    return copy and replace(
        copy, since=0, due_at=None, started_at=None, queued_at=None, sent_at=None, not_before=None
    )


def _quiet(w: World, change: Change) -> bool:
    guard = change.guard.pulse
    if guard is None or w.pulse is None or w.pulse[0] != guard.attempt or w.pulse[1] is None:
        return True
    return -w.pulse[1] * TICK < guard.before


def _stamp() -> Stamp:
    return Stamp(0, "", "model")


def _beat_at(w: World, task: Task) -> int | None:
    if w.pulse is None or w.pulse[0] != task.attempt or w.pulse[1] is None:
        return None
    return -w.pulse[1] * TICK


def _with(msgs: tuple[Msg, ...], *more: Msg) -> tuple[Msg, ...]:
    return tuple(sorted((*msgs, *more)))


def _signaled(w: World, attempt: int, kind: str) -> World:
    seen, beat, _ = w.pulse or (attempt, None, "")
    if seen > attempt:
        return w
    return replace(w, pulse=(attempt, beat if seen == attempt else None, kind))


# ---- actors -------------------------------------------------------------------------------------


def _submit(w: World) -> Iterator[tuple[str, World]]:
    match w.api:
        case "create":
            yield (
                "submit",
                replace(
                    w,
                    record=number(_new(w.budgets)),
                    books=(1, 1, 0),
                    api="send",
                    fresh=(True, True, True),
                ),
            )
        case "send":
            yield "send", replace(w, msgs=_with(w.msgs, Msg(0)), api="mark")
        case "mark":
            assert w.task is not None
            if w.fresh[API]:
                marked = _apply(w, transitions.enqueue(w.task, _stamp()))
                assert marked is not None
                yield "mark", replace(marked, api="done")
            else:
                yield "mark refused", replace(w, api="done")
    if w.api in {"send", "mark"} and w.deaths:
        yield "api dies", replace(w, api="done", deaths=w.deaths - 1)


def _new(budgets: tuple[int, int, int]) -> Task:
    born = Task(
        id="task_1",
        owner=Owner("a", "b"),
        type="t",
        lane="l",
        state=State.CREATED,
        created_at=0,
        since=0,
        deadline_at=LIMITS.deadline,
        limits=LIMITS,
        budgets=Budgets(*map(Budget, budgets)),
    )
    return _bare(transitions.submit(born, _stamp()))


def _cancel(w: World) -> Iterator[tuple[str, World]]:
    if w.task is None:
        return
    match w.canceler:
        case "read":
            yield "cancel reads", replace(w, canceler="write", fresh=_fresh(w, CANCELER))
        case "write" if w.task.state.ended or _under_way(w.task, w.cancels[0]):
            yield "cancel is too late", _asked(w)
        case "write" if not w.fresh[CANCELER]:
            yield "cancel reads again", replace(w, fresh=_fresh(w, CANCELER))
        case "write":
            code = ErrorCode.CANCELED_BY_USER
            after = _apply(w, transitions.cancel(w.task, _stamp(), w.cancels[0], code))
            assert after is not None
            assert after.task is not None
            told = after.task.state is State.CANCELING
            yield "cancel", replace(after, canceler="tell") if told else _asked(after)
        case "tell":
            told_to = _signaled(w, w.task.attempt, f"cancel_{w.cancels[0]}")
            yield "cancel tells", _asked(told_to)
    if w.canceler in {"write", "tell"} and w.deaths:
        yield "canceler dies", replace(_asked(w), deaths=w.deaths - 1)


def _under_way(task: Task, mode: CancelMode) -> bool:
    return task.state is State.CANCELING and not transitions.hardens(task, mode)


def _asked(w: World) -> World:
    """This cancel is done with; the next one may be asked for."""
    left = w.cancels[1:]
    return replace(w, canceler="read" if left else "done", cancels=left or w.cancels)


def _move(w: World) -> Iterator[tuple[str, World]]:
    task = w.task
    if w.mover == "move" and task is not None and task.state in RULES[Verb.PRIORITIZE].sources:
        after = _apply(w, transitions.prioritize(task, _stamp(), "m"))
        assert after is not None
        assert after.task is not None
        sends = after.task.state in {State.QUEUED, State.RETRYING}
        yield "moves", replace(after, mover="send" if sends else "done")
    elif w.mover == "send":
        assert task is not None
        ticks = -(-max(0, task.not_before or 0) // TICK)
        sent = _with(w.msgs, Msg(task.attempt, ticks, lane="m"))
        yield "mover sends", replace(w, msgs=sent, mover="done")
        if w.deaths:
            yield "mover dies", replace(w, mover="done", deaths=w.deaths - 1)


def _fresh(w: World, who: int) -> tuple[bool, bool, bool]:
    fresh = list(w.fresh)
    fresh[who] = True
    return tuple(fresh)  # type: ignore[return-value]


def _sweep(w: World) -> Iterator[tuple[str, World]]:
    phase, memory = w.sweep
    task = w.task
    if phase == "idle" and task is not None and not task.state.ended:
        verdict = judge(task, _beat_at(w, task), 0)
        if verdict is not None:
            yield "sweep reads", replace(w, sweep=("act", verdict), fresh=_fresh(w, SWEEP))
    elif phase == "act":
        yield from _sweep_acts(w, memory)
    elif phase == "follow":
        kind, attempt = memory
        if kind == "send":
            assert task is not None
            after = replace(w, msgs=_with(w.msgs, Msg(attempt, lane=task.lane)))
        else:
            after = _signaled(w, attempt, kind)
        yield f"sweep follows up: {kind}", replace(after, sweep=("idle", None))
    if phase != "idle" and w.deaths:
        yield "sweep dies", replace(w, sweep=("idle", None), deaths=w.deaths - 1)


def _sweep_acts(  # noqa: C901, PLR0912 - one arm a step, as in the sweep itself
    w: World, verdict: Any
) -> Iterator[tuple[str, World]]:
    task = w.task
    assert task is not None
    if verdict.step is Step.SEND and len(w.msgs) < 3:
        w = replace(w, msgs=_with(w.msgs, Msg(task.attempt, lane=task.lane)))
    if not w.fresh[SWEEP]:
        yield "sweep is outrun", replace(w, sweep=("idle", None))
        return
    follow: tuple[str, Any] = ("idle", None)
    match verdict.step:
        case Step.SEND if task.state is State.CREATED:
            change = transitions.enqueue(task, _stamp())
        case Step.SEND:
            sends = task.sends + (task.sent_at is not None)
            change = rearmed(task, _stamp(), sent_at=0, sends=sends)
        case Step.STALL:
            change = transitions.stall(task, _stamp())
        case Step.REVIVE:
            change = transitions.revive(task, _stamp())
        case Step.RESCUE:
            change = transitions.rescue(task, _stamp(), verdict.error)
            follow = ("follow", ("lost", task.attempt))
            if change.after is not None and change.after.state is State.QUEUED:
                follow = ("follow", ("send", task.attempt))
        case Step.EXPIRE:
            change = transitions.expire(task, _stamp(), verdict.error)
        case Step.RESUME:
            change = transitions.resume(task, _stamp())
            follow = ("follow", ("send", task.attempt))
        case Step.STOP:
            change = transitions.stopped(task, _stamp(), forced=True)
            follow = ("follow", ("lost", task.attempt))
        case Step.SIGNAL:
            assert task.cancel is not None
            change = rearmed(task, _stamp(), verdict.look_at)
            follow = ("follow", (f"cancel_{task.cancel.mode}", task.attempt))
        case _:
            change = rearmed(task, _stamp(), verdict.look_at)
    after = _apply(w, change)
    if after is None:
        yield f"sweep is refused: {verdict.step}", replace(w, sweep=("idle", None))
    else:
        yield f"sweep: {verdict.step}", replace(after, sweep=follow)


def _queue(w: World) -> Iterator[tuple[str, World]]:
    """SQS is at least once: it may show a message again, at any time, to anybody."""
    if w.copies:
        for message in set(w.msgs):
            again = replace(message, hidden=0, receipt=-1)
            yield "sqs duplicates", replace(w, msgs=_with(w.msgs, again), copies=w.copies - 1)
    if w.deaths:
        for message in set(w.msgs):
            left = list(w.msgs)
            left.remove(message)
            yield "sqs loses", replace(w, msgs=tuple(left), deaths=w.deaths - 1)


def _work(  # noqa: C901 - one arm a phase
    w: World, i: int
) -> Iterator[tuple[str, World]]:
    me = w.workers[i]
    match me.phase:
        case "idle":
            for message in {m for m in w.msgs if m.hidden == 0}:
                taken = replace(message, hidden=LEASE, receipt=i)
                left = list(w.msgs)
                left.remove(message)
                got = _be(w, i, f"got {message.attempt} {message.lane}")
                yield f"w{i} receives", replace(got, msgs=_with(tuple(left), taken))
        case "running":
            yield from _run(w, i)
        case "keeping":
            yield from _keep(w, i)
        case "stopping":
            yield from _end(w, i, "stops", _current(w, i, Verb.STOPPED))
        case "delete":
            yield f"w{i} deletes", _forget(_be(w, i, "idle"), i)
        case "send":
            assert me.copy is not None
            sent = replace(w, msgs=_with(w.msgs, Msg(me.copy.attempt, lane=me.copy.lane)))
            yield f"w{i} sends", _be(sent, i, "delete")
        case "resume":
            yield from _resume(w, i)
        case again if again.startswith("again"):
            yield from _claim_again(w, i, again.split()[1])
        case got:
            yield from _claim(w, i, int(got.split()[1]), got.split()[2])
    if me.phase != "idle" and w.deaths:
        yield f"w{i} dies", replace(_be(w, i, "idle"), deaths=w.deaths - 1)


def _claim(w: World, i: int, attempt: int, lane: str) -> Iterator[tuple[str, World]]:
    after = _apply(w, transitions.claim("task_1", attempt, _stamp(), "w", LIMITS.lease, lane))
    if after is not None:
        _was_in(lane, after)
        yield f"w{i} claims", _be(after, i, "running", after.task)
        return
    beat_at = _beat_at(w, w.task) if w.task else None
    verdict = judge_refusal(w.task, beat_at, 0, receives=1, lane=lane)
    match verdict.step:
        case ClaimStep.DROP:
            yield f"w{i} drops", _forget(_be(w, i, "idle"), i)
        case ClaimStep.HIDE:
            ticks = -(-verdict.hide_ms // TICK)
            yield f"w{i} hides", _hide(_be(w, i, "idle"), i, ticks)
        case _:
            yield f"w{i} sees {verdict.step}", _be(w, i, f"again {lane}", w.task)


def _was_in(lane: str, after: World) -> None:
    if after.task is not None and after.task.lane != lane:
        raise Broken("a message of a lane that the task had left was good for a claim")


def _claim_again(w: World, i: int, lane: str) -> Iterator[tuple[str, World]]:
    seen = w.workers[i].copy
    assert seen is not None
    if seen.state in {State.PROCESSING, State.STALLED}:
        change = transitions.take_over(seen, _stamp(), "w")
    else:
        change = transitions.claim(seen.id, seen.attempt, _stamp(), "w", LIMITS.lease, lane)
    after = _apply(w, change)
    if after is None:
        yield f"w{i} is refused again", _hide(_be(w, i, "idle"), i, 1)
    else:
        yield f"w{i} {change.verb}", _be(after, i, "running", after.task)


def _run(w: World, i: int) -> Iterator[tuple[str, World]]:
    copy = w.workers[i].copy
    assert copy is not None
    yield from _beat(w, i, copy)
    yield from _end(w, i, "succeeds", transitions.succeed(copy, _stamp(), Outcome()))
    if copy.budgets.retries.limit:
        left = copy.budgets.retries.left
        failed = transitions.fail(copy, _stamp(), BROKEN, RetryAt(TICK) if left else GiveUp(""))
        yield from _end(w, i, "fails", failed, then="send" if left else "delete")
    if copy.budgets.interruptions.left:
        yield from _end(w, i, "hands back", transitions.hand_back(copy, _stamp(), None), "resume")


def _beat(w: World, i: int, copy: Task) -> Iterator[tuple[str, World]]:
    attempt, beat, signal = w.pulse or (copy.attempt, None, "")
    if attempt > copy.attempt or (attempt == copy.attempt and signal == "lost"):
        yield f"w{i} learns that it lost", _be(w, i, "idle")
        return
    told = signal if attempt == copy.attempt else ""
    if (attempt, beat) == (copy.attempt, 0) and told in {"", "cancel_soft"}:
        return  # it has just beaten
    beaten = _hide(replace(w, pulse=(copy.attempt, 0, told)), i, LEASE)
    # A soft cancel lets the run go on.
    stops = told and told != "cancel_soft"
    yield f"w{i} beats", _be(beaten, i, "stopping", copy) if stops else beaten


def _end(
    w: World, i: int, name: str, change: Change | None, then: str = "delete"
) -> Iterator[tuple[str, World]]:
    after = _apply(w, change) if change else None
    if after is not None:
        yield f"w{i} {name}", _be(after, i, then, after.task)
        return
    canceling = w.task is not None and w.task.state is State.CANCELING
    mine = w.task is not None and _copy(w, i).attempt == w.task.attempt
    if name == "succeeds" and salvaging.soft(w.task, _copy(w, i).attempt):
        yield f"w{i} {name}: canceled softly", _be(w, i, "keeping", _copy(w, i))
    elif canceling and mine and name != "stops":
        yield f"w{i} {name}: canceled meanwhile", _be(w, i, "stopping", _copy(w, i))
    else:
        yield f"w{i} {name}: refused", _be(w, i, "idle")


def _keep(w: World, i: int) -> Iterator[tuple[str, World]]:
    """The worker has read the task, and writes its end with the result, if it is still soft."""
    task = w.task
    if task is None or not salvaging.soft(task, _copy(w, i).attempt):
        yield f"w{i} keeps nothing", _be(w, i, "stopping", _copy(w, i))
        return
    salvage = Salvage(
        owner=task.owner, fingerprint="f", source=task.id, files=(), output=None, expires_at=1,
        once=True,
    )  # fmt: skip
    after = _apply(w, transitions.stopped(task, _stamp(), salvage=salvage))
    assert after is not None
    yield f"w{i} keeps the result", _be(after, i, "delete", after.task)


def _current(w: World, i: int, verb: Verb) -> Change | None:
    del verb
    task = w.task
    if task is None or task.state is not State.CANCELING or task.attempt != _copy(w, i).attempt:
        return None
    return transitions.stopped(task, _stamp())


def _resume(w: World, i: int) -> Iterator[tuple[str, World]]:
    task = w.task
    assert task is not None
    if task.state is not State.PAUSED:
        yield f"w{i} finds it resumed", _be(w, i, "idle")
        return
    after = _apply(w, transitions.resume(task, _stamp()))
    assert after is not None
    yield f"w{i} resumes", _be(after, i, "send", after.task)


def _copy(w: World, i: int) -> Task:
    copy = w.workers[i].copy
    assert copy is not None
    return copy


def _be(w: World, i: int, phase: str, copy: Task | None = None) -> World:
    workers = list(w.workers)
    workers[i] = Worker(phase, number(_slim(copy)))
    return replace(w, workers=tuple(workers))


def _hide(w: World, i: int, ticks: int) -> World:
    return replace(
        w,
        msgs=tuple(sorted(replace(m, hidden=ticks) if m.receipt == i else m for m in w.msgs)),
    )


def _forget(w: World, i: int) -> World:
    return replace(w, msgs=tuple(m for m in w.msgs if m.receipt != i))
