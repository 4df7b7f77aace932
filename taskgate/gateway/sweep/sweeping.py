"""The stale sweep: look at every task whose clock is due, and do the one thing that it needs.

It reads O(due): one query per clock shard, then one consistent read per due task. Two sweeps at
once are harmless, and so is one that dies half way: every act is one guarded write, and what was
left undone is still due.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from typing import Final

from taskgate.errors import Refused, Unavailable
from taskgate.events import event, swallowed, transition
from taskgate.gateway.outbox import news
from taskgate.gateway.stamps import stamp
from taskgate.gateway.steer.steering import send_cancel
from taskgate.gateway.switching import KnownSwitches
from taskgate.lifecycle import transitions
from taskgate.lifecycle.change import Change, Stamp, rearmed
from taskgate.lifecycle.states import State
from taskgate.lifecycle.verdict import Step, Verdict, judge
from taskgate.metrics import MAX_VALUES
from taskgate.ports import Due, Message, Ports, Pulse, Signal
from taskgate.switches import NOTHING_PAUSED, Switches
from taskgate.task import Task

PAGE: Final = 100
THREADS: Final = 8


@dataclass
class Report:
    """What one run did. A run that found nothing says so too: silence must mean "not running"."""

    looked_at: int = 0
    oldest_overdue_ms: int = 0
    finished: bool = True
    """False when time ran out: what is left is still due."""
    counts: Counter[str] = field(default_factory=Counter)
    stuck: int = 0
    """Tasks that this run saw stalled and left so: suspected now, or out of its reach."""
    executing: dict[str, list[float]] = field(default_factory=lambda: defaultdict(list))
    """By type, for how many seconds the runs have lasted that are older than a lease."""

    def add(self, other: Report) -> None:
        self.looked_at += other.looked_at
        self.oldest_overdue_ms = max(self.oldest_overdue_ms, other.oldest_overdue_ms)
        self.finished = self.finished and other.finished
        self.counts.update(other.counts)
        self.stuck += other.stuck
        for name, durations in other.executing.items():
            self.executing[name] += durations

    def saw(self, task: Task, now: int) -> None:
        """Note a run that goes on. The lazy clock brings each one past the sweep every minute."""
        if task.state in (State.PROCESSING, State.STALLED) and task.started_at is not None:
            self.executing[task.type].append((now - task.started_at) / 1000)


def sweep(ports: Ports, shards: Iterable[int], stop_at: int) -> Report:
    """Look at all due live tasks of these clock shards, until `stop_at` (epoch ms)."""
    total, order = Report(), _in_turn(list(shards), ports.now())
    switches = KnownSwitches().now(ports)
    with ThreadPoolExecutor(THREADS, thread_name_prefix="sweep") as pool:
        for part in pool.map(lambda s: sweep_shard(ports, s, stop_at, switches), order):
            total.add(part)
    _tell(total)
    return total


def _in_turn(shards: list[int], now: int) -> list[int]:
    """Others first in each minute: when time is short, no shard always comes last."""
    first = now // 60_000 * THREADS % max(1, len(shards))
    return shards[first:] + shards[:first]


def sweep_shard(
    ports: Ports, shard: int, stop_at: int, switches: Switches = NOTHING_PAUSED
) -> Report:
    """One shard, page by page. A failing shard does not stop the others."""
    report, start = Report(), None
    now = ports.now()
    while True:
        try:
            page = ports.tasks.due(shard, now, PAGE, start)
        except Unavailable as error:
            swallowed("shard_unreadable", error, shard=shard)
            report.finished = False
            return report
        for due in page.rows:
            if ports.now() >= stop_at:
                report.finished = False
                return report
            report.oldest_overdue_ms = max(report.oldest_overdue_ms, now - due.due_at)
            report.looked_at += 1
            report.counts[look(ports, due, report, switches)] += 1
        start = page.next
        if start is None:
            return report


def _tell(report: Report) -> None:
    event(
        "swept",
        looked_at=report.looked_at,
        oldest_overdue_seconds=report.oldest_overdue_ms / 1000,
        finished=report.finished,
        stuck=report.stuck,
        none_executing=0,
        **{f"did_{name}": count for name, count in report.counts.items()},
    )
    for name, durations in report.executing.items():
        for begin in range(0, len(durations), MAX_VALUES):
            part = durations[begin : begin + MAX_VALUES]
            event("executing", type=name, count=len(part), durations=part)


def look(
    ports: Ports, due: Due, report: Report | None = None, switches: Switches = NOTHING_PAUSED
) -> str:
    """Look at one task and act once; returns what was done. The index is only a hint."""
    report, task = report or Report(), None
    try:
        task, pulse = ports.tasks.get_with_pulse(due.task_id)
        if task is None:
            return "gone"
        report.saw(task, ports.now())
        own = pulse if pulse and pulse.attempt == task.attempt else None
        return _act(ports, task, own, report, switches)
    except Refused:
        # Somebody was quicker; what they wrote has its own clock.
        return "outrun"
    except Unavailable as error:
        _missed("look_failed", error, due, report, task)
        return "unavailable"
    except Exception as error:  # noqa: BLE001  one bad record must not hide all that are due after it
        _missed("look_broke", error, due, report, task)
        return "broken"


def _act(ports: Ports, task: Task, pulse: Pulse | None, report: Report, switches: Switches) -> str:
    verdict = _verdict(task, pulse, ports.now(), switches)
    if verdict is None:
        return "not_due"
    if verdict.waited_too_long and not switches.read:
        # A switch that nobody can read just now may be what it waits for: it is still due.
        return "put_off"
    _ACTS[verdict.step](ports, task, verdict)
    report.stuck += _leaves_stalled(task, verdict)
    return verdict.step.value


def _verdict(task: Task, pulse: Pulse | None, now: int, switches: Switches) -> Verdict | None:
    """What the record, the pulse of its attempt and the switches say; with what a worker has seen."""
    held_at = switches.held_at(task.lane, task.type, now)
    verdict = judge(task, pulse.beat_at or None if pulse else None, now, held_at)
    if verdict and pulse and task.cancel:
        return replace(verdict, seen_at=pulse.seen_at(f"cancel_{task.cancel.mode}"))
    return verdict


def _missed(name: str, error: Exception, due: Due, report: Report, task: Task | None) -> None:
    swallowed(name, error, task=due.task_id)
    report.stuck += task is not None and task.state is State.STALLED


def _leaves_stalled(task: Task, verdict: Verdict) -> bool:
    waits = task.state is State.STALLED and verdict.step is Step.REARM
    return waits or verdict.step is Step.STALL


def _send(ports: Ports, task: Task, verdict: Verdict) -> None:
    del verdict
    if task.state is State.SCHEDULED:
        after = _apply(ports, task, transitions.wake(task, _stamp(ports, "its time has come")))
        ports.lanes.send(after.lane, Message.of(after))
        return
    # Sent before it is written down: a send that fails must not use up a redelivery.
    ports.lanes.send(task.lane, Message.of(task))
    made = _stamp(ports, "message sent again")
    if task.state is State.CREATED:
        _apply(ports, task, transitions.enqueue(task, made))
        return
    sends = task.sends + 1 if task.sent_at is not None else task.sends
    _apply(ports, task, rearmed(task, made, sent_at=made.at, sends=sends))


def _stall(ports: Ports, task: Task, verdict: Verdict) -> None:
    del verdict
    over = ports.now() >= task.run_ends_at
    reason = "its time is up" if over else "no beat for a whole lease"
    after = _apply(ports, task, transitions.stall(task, _stamp(ports, reason)))
    news.leave(ports, after, news.STALLED)
    if over:
        ports.pulses.signal(task.id, Signal("deadline", task.attempt))


def _revive(ports: Ports, task: Task, verdict: Verdict) -> None:
    del verdict
    _apply(ports, task, transitions.revive(task, _stamp(ports, "the beat is back")))


def _rescue(ports: Ports, task: Task, verdict: Verdict) -> None:
    assert verdict.error is not None  # noqa: S101 - a rescue always has one
    made = _stamp(ports, verdict.error.code.value)
    after = _apply(ports, task, transitions.rescue(task, made, verdict.error))
    ports.pulses.signal(task.id, Signal("lost", task.attempt))
    if after.state is State.QUEUED:
        ports.lanes.send(after.lane, Message.of(after))


def _expire(ports: Ports, task: Task, verdict: Verdict) -> None:
    assert verdict.error is not None  # noqa: S101 - an expiry always has one
    made = _stamp(ports, verdict.error.code.value)
    _apply(ports, task, transitions.expire(task, made, verdict.error))


def _resume(ports: Ports, task: Task, verdict: Verdict) -> None:
    del verdict
    after = _apply(ports, task, transitions.resume(task, _stamp(ports, "pause over")))
    ports.lanes.send(after.lane, Message.of(after))


def _stop(ports: Ports, task: Task, verdict: Verdict) -> None:
    heard = "its worker had the word and did not stop" if verdict.seen_at else "no worker heard it"
    made = _stamp(ports, f"the cancel is enforced: {heard}")
    change = transitions.stopped(task, made, seen_at=verdict.seen_at, forced=True)
    _apply(ports, task, change)
    event("cancel_enforced", task=task.id, type=task.type, heard="yes" if verdict.seen_at else "no")
    ports.pulses.signal(task.id, Signal("lost", task.attempt))


def _signal(ports: Ports, task: Task, verdict: Verdict) -> None:
    if verdict.seen_at is None:
        event("cancel_unheard", task=task.id, type=task.type)
    send_cancel(ports, task)
    _rearm(ports, task, verdict)


def _rearm(ports: Ports, task: Task, verdict: Verdict) -> None:
    assert verdict.look_at is not None  # noqa: S101 - the verdict says when
    _apply(ports, task, rearmed(task, _stamp(ports), verdict.look_at))


def _apply(ports: Ports, task: Task, change: Change) -> Task:
    after = ports.tasks.apply(change)
    transition(change, task, after)
    return after


def _stamp(ports: Ports, reason: str = "") -> Stamp:
    return stamp(ports.now(), "sweep", reason)


_ACTS: Final[Mapping[Step, Callable[[Ports, Task, Verdict], None]]] = {
    Step.SEND: _send,
    Step.STALL: _stall,
    Step.REVIVE: _revive,
    Step.RESCUE: _rescue,
    Step.EXPIRE: _expire,
    Step.RESUME: _resume,
    Step.STOP: _stop,
    Step.SIGNAL: _signal,
    Step.REARM: _rearm,
}
