"""The sweep in a small world: it reads, judges, and acts in the order of `gateway.sweep.sweeping`."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Final

from taskgate.lifecycle import transitions
from taskgate.lifecycle.change import Change, rearmed
from taskgate.lifecycle.states import State
from taskgate.lifecycle.verdict import Step, Verdict, judge
from taskgate.task import Task
from tests.simulation.small.world import (
    NOW,
    STAMP,
    SWEEP,
    VERDICTS,
    Msg,
    Sweep,
    World,
    beat_at,
    reread,
    sent,
    signaled,
    write,
)

MOST: Final = 3
"""Messages that the sweep may add to; one more would be as good as lost."""


def sweep(w: World, task: Task) -> Iterator[tuple[str, World]]:
    """The next step of the one sweep, which remembers what it has read."""
    memory = w.sweep
    verdict = VERDICTS[memory.verdict]
    match memory.phase:
        case "idle":
            yield from _reads(w, task)
        case "act" if verdict and verdict.step is Step.SEND:
            yield "sweep sends", _sends(w)._replace(sweep=memory._replace(phase="write"))
        case "act" if verdict and verdict.step is Step.SIGNAL:
            told = signaled(w, memory.attempt, memory.word)
            yield "sweep signals", told._replace(sweep=memory._replace(phase="write"))
        case "act" | "write":
            yield _writes(w, task, verdict)
        case "lost":
            told = signaled(w, memory.attempt, "lost")
            then = memory._replace(phase="send") if memory.lane else Sweep()
            yield "sweep says that it is lost", told._replace(sweep=then)
        case "send":
            yield "sweep sends what waits again", _sends(w)._replace(sweep=Sweep())
    if memory.phase != "idle" and w.deaths:
        yield "sweep dies", w._replace(sweep=Sweep(), deaths=w.deaths - 1)


def sweep_whole(w: World) -> World:
    """One whole run of the sweep, nobody else moving."""
    w = w._replace(sweep=Sweep(), deaths=0)
    while w.task is not None:
        (after, *_) = [n for _, n in sweep(w, w.task)] or [None]
        if after is None:
            break
        w = after
        if w.sweep.phase == "idle":
            break
    return w


def _reads(w: World, task: Task) -> Iterator[tuple[str, World]]:
    verdict = None if task.state.ended else judge(task, beat_at(w, task), NOW)
    if verdict is not None:
        word = f"cancel_{task.cancel.mode}" if task.cancel else ""
        read = Sweep("act", VERDICTS.of(verdict), task.attempt, task.lane, word)
        yield "sweep reads", reread(w, SWEEP)._replace(sweep=read)


def _sends(w: World) -> World:
    message = Msg(w.sweep.attempt, lane=w.sweep.lane)
    return sent(w, message) if len(w.msgs) < MOST else w


def _writes(w: World, task: Task, verdict: Verdict | None) -> tuple[str, World]:
    """Each of its writes demands the version that it has read."""
    idle = w._replace(sweep=Sweep())
    if not w.fresh[SWEEP] or verdict is None:
        return "sweep is outrun", idle
    after = write(w, _CHANGES[verdict.step](task, verdict))
    if after is None:
        return f"sweep is refused: {verdict.step}", idle
    return f"sweep: {verdict.step}", after._replace(sweep=_follows(verdict.step, task, after))


def _follows(step: Step, task: Task, after: World) -> Sweep:
    assert after.task is not None
    queued = after.task.state is State.QUEUED
    lane = after.task.lane if queued else ""
    match step:
        case Step.RESCUE | Step.STOP:
            return Sweep("lost", 0, task.attempt, lane)
        case Step.RESUME:
            return Sweep("send", 0, task.attempt, lane)
        case _:
            return Sweep()


def _sent_again(task: Task, verdict: Verdict) -> Change:
    del verdict
    if task.state is State.CREATED:
        return transitions.enqueue(task, STAMP)
    sends = task.sends + (task.sent_at is not None)
    return rearmed(task, STAMP, sent_at=NOW, sends=sends)


def _ended(build: Callable[..., Change]) -> Callable[[Task, Verdict], Change]:
    return lambda task, verdict: build(task, STAMP, verdict.error)


def _rearmed(task: Task, verdict: Verdict) -> Change:
    return rearmed(task, STAMP, verdict.look_at)


_CHANGES: Final[Mapping[Step, Callable[[Task, Verdict], Change]]] = {
    Step.SEND: _sent_again,
    Step.STALL: lambda task, _: transitions.stall(task, STAMP),
    Step.REVIVE: lambda task, _: transitions.revive(task, STAMP),
    Step.RESCUE: _ended(transitions.rescue),
    Step.EXPIRE: _ended(transitions.expire),
    Step.RESUME: lambda task, _: transitions.resume(task, STAMP),
    Step.STOP: lambda task, _: transitions.stopped(task, STAMP, forced=True),
    Step.SIGNAL: _rearmed,
    Step.REARM: _rearmed,
}
