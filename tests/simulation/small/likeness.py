"""Which states of a small world no actor can ever tell apart: `alike` names one of them for all.

Each rule here drops what nobody will look at again. `test_what_is_alike_goes_on_alike` holds them to
it: from a state and from the one that stands for it, the same steps lead to states that are alike.

* A time that is past its last threshold is as good as one a second older; so time has no bound.
* A message or a copy of an earlier attempt is refused, whichever attempt that was: attempts only rise.
* Beats and words of an attempt are looked at by its task while a worker holds it, and by workers that
  still run it or an earlier one; by nobody else.
* Who was outrun writes nothing: what it would have written is forgotten.
* The workers are alike but for their names.
* An end is final (each state checks that no claim leaves it), so beside an ended task nothing but the
  workers' writes is still of interest, and the words that stop them.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable
from dataclasses import replace
from typing import Final

from taskgate.lifecycle.change import SETTLING_MS
from taskgate.lifecycle.states import HELD, State
from taskgate.lifecycle.verdict import Step, Verdict
from taskgate.task import Task
from tests.simulation.small.world import (
    LIMITS,
    NOW,
    SWEEP,
    TASKS,
    VERDICTS,
    Msg,
    Pulse,
    Sweep,
    Worker,
    World,
    new,
    slim,
    times,
)

STALE: Final = -1
"""Any attempt before the present one."""
OUTRUN: Final = Sweep("write")
_SEND: Final = VERDICTS.of(Verdict(Step.SEND))
_SIGNAL: Final = VERDICTS.of(Verdict(Step.SIGNAL))
DEADLINE: Final = NOW - LIMITS.lease
"""Past is past, but a claim's first look may come a lease later, and no other look."""
GRACES: Final = 2
"""A cancel has a grace for the worker to stop, and one more while it is known to live."""


def alike(w: World) -> World:
    """The state that stands for this one and all that are like it."""
    task = w.task
    if task is None:
        return w
    attempt, ended = task.attempt, task.state.ended
    workers = tuple(_worker(x, attempt, task.lane, ended=ended) for x in w.workers)
    w = w._replace(
        record=_record(w.record),
        pulse=_pulse(w.pulse, task, workers),
        msgs=_messages(w.msgs, attempt),
        workers=workers,
        mover=_mover(w.mover, attempt),
        sweep=_sweep(w, task),
    )
    w = _at_rest(w) if ended else w
    return _in_order(w._replace(fresh=_fresh(w)))


def _fresh(w: World) -> tuple[bool, bool, bool]:
    """Who reads again before it writes, or writes nothing, need not know that it was outrun."""
    api = w.fresh[0] or w.api not in {"send", "mark"}
    canceler = w.fresh[1] or w.canceler != "write"
    sweep = w.fresh[2] or w.sweep.phase not in {"act", "write"}
    return api, canceler, sweep


def _at_rest(w: World) -> World:
    return w._replace(
        api="done",
        canceler=w.canceler if w.canceler.startswith("tell") else "done",
        cancels=w.cancels[:1],
        mover="done",
        msgs=(),
        deaths=0,
        copies=0,
    )


def _in_order(w: World) -> World:
    if len(w.workers) == 1:
        return w
    first, second = w.workers
    mirrored = w._replace(workers=(second, first), msgs=_mirrored(w.msgs))
    return min(w, mirrored, key=lambda one: (one.workers, one.msgs))


@functools.cache
def _mirrored(msgs: tuple[Msg, ...]) -> tuple[Msg, ...]:
    return tuple(sorted(m._replace(receipt=1 - m.receipt) if m.receipt >= 0 else m for m in msgs))


# ---- the record ---------------------------------------------------------------------------------


@functools.cache
def _record(number: int) -> int:
    task = TASKS[number]
    if task is None or task.state.ended:
        return number
    floors = _floors(task)
    floored = {name: max(at, floors.get(name, at)) for name, at in times(task)}
    sends = min(task.sends, LIMITS.max_redeliveries)
    return TASKS.of(replace(task, sends=sends, **floored))


def _floors(task: Task) -> dict[str, int]:
    """For each time the age from which on nothing about it changes any more."""
    return {
        "deadline_at": DEADLINE,
        "due_at": NOW,
        "resume_at": NOW,
        "since": NOW - _since(task),
        "started_at": NOW - LIMITS.run_timeout,
        "queued_at": NOW - LIMITS.queue_timeout,
        "sent_at": NOW - max(LIMITS.redeliver_after, LIMITS.send_check),
        "not_before": NOW - LIMITS.send_check,
    }


def _since(task: Task) -> int:
    match task.state:
        case State.PROCESSING:
            return LIMITS.lease
        case State.STALLED:
            return LIMITS.stall_grace
        case State.CANCELING:
            return GRACES * LIMITS.cancel_grace
        case State.CREATED:
            return LIMITS.queue_timeout
        case State.QUEUED if task.sent_at is None:
            return LIMITS.send_check
        case _:
            return 0


# ---- what the actors remember -------------------------------------------------------------------


@functools.cache
def _messages(msgs: tuple[Msg, ...], attempt: int) -> tuple[Msg, ...]:
    return tuple(sorted(m if m.attempt == attempt else m._replace(attempt=STALE) for m in msgs))


@functools.cache
def _worker(worker: Worker, attempt: int, lane: str, *, ended: bool) -> Worker:
    """What it may still do with its copy; nobody looks at the rest."""
    phase, _, named = worker.phase.partition(" ")
    if phase == "got" and ended:
        # The one that is most likely to be good for a claim stands for all.
        return Worker(f"got {attempt} {lane}")
    if phase == "got":
        of, _, where = named.partition(" ")
        return Worker(f"got {attempt if int(of) == attempt else STALE} {where}")
    copy = worker.copy
    if copy is None or phase in {"delete", "resume"}:
        return Worker(worker.phase)
    return Worker(worker.phase, _copy(worker.held, phase, stale=ended or copy.attempt != attempt))


@functools.cache
def _copy(held: int, phase: str, *, stale: bool) -> int:
    copy = TASKS[held]
    assert copy is not None
    attempt = STALE if stale else copy.attempt
    match phase:
        case "running" if stale:
            # It still beats, and the pulse tells its attempt from others.
            return TASKS.of(_only(copy.attempt))
        case "running" | "again" if not stale:
            return TASKS.of(replace(copy, since=NOW, deadline_at=max(copy.deadline_at, DEADLINE)))
        case "send":
            return TASKS.of(_only(attempt, copy.lane))
        case _:
            return TASKS.of(_only(attempt))


def _only(attempt: int, lane: str = "l") -> Task:
    """A copy of which nothing but this counts."""
    born = slim(TASKS[new((0, 0, 0))])
    assert born is not None
    return replace(born, state=State.PROCESSING, attempt=attempt, lane=lane)


def _pulse(pulse: Pulse | None, task: Task, workers: Iterable[Worker]) -> Pulse | None:
    if pulse is None or (task.state in HELD and pulse.attempt == task.attempt):
        return pulse
    running = [x.copy.attempt for x in workers if x.phase == "running" and x.copy]
    if any(attempt <= pulse.attempt for attempt in running):
        return pulse._replace(beat=None)
    return None


def _mover(mover: str, attempt: int) -> str:
    phase, _, named = mover.partition(" ")
    return f"send {STALE}" if phase == "send" and int(named) != attempt else mover


def _sweep(w: World, task: Task) -> Sweep:
    memory, ended = w.sweep, task.state.ended
    attempt = memory.attempt if memory.attempt == task.attempt else STALE
    match memory.phase:
        case "act" | "write" if w.fresh[SWEEP]:
            return memory._replace(verdict=_soon(memory.verdict))
        case "act" if _step(memory) is Step.SEND and not ended:
            return Sweep("act", _SEND, attempt, memory.lane)
        case "act" if _step(memory) is Step.SIGNAL:
            return Sweep("act", _SIGNAL, memory.attempt, "", memory.word)
        case "act" | "write":
            return OUTRUN
        case "send":
            return Sweep("send", 0, attempt, memory.lane)
        case _:
            return memory


def _step(memory: Sweep) -> Step | None:
    verdict = VERDICTS[memory.verdict]
    return verdict and verdict.step


@functools.cache
def _soon(number: int) -> int:
    """A look that is put off is put off for a second at least."""
    verdict = VERDICTS[number]
    if verdict is None or verdict.look_at is None:
        return number
    return VERDICTS.of(replace(verdict, look_at=max(verdict.look_at, NOW + SETTLING_MS)))
