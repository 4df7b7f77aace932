"""Why a task is where it is, what it waits for, and when the gateway looks next. Pure, and honest.

All times are epoch ms. Sentences speak of "about": the sweep runs each minute, and a count of a
lane is SQS's own guess.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final, NamedTuple

from taskgate.catalog import Catalog, TaskType
from taskgate.errors import Unavailable
from taskgate.events import swallowed
from taskgate.gateway.views import canceling
from taskgate.gateway.views.ahead import (
    Look,
    NextLimit,
    limit_sentence,
    look_sentence,
    next_limit,
    next_look,
)
from taskgate.gateway.views.debts import Debts, debt_sentences, debts_of
from taskgate.gateway.views.fleet import attending, pool_of
from taskgate.gateway.views.reading import FOREVER, within_time
from taskgate.gateway.views.stories import STORIES, about, held_back, named
from taskgate.lifecycle import transitions
from taskgate.lifecycle.states import HELD, RULES, State, Verb
from taskgate.lifecycle.verdict import last_sign
from taskgate.ports import Ports, Pulse
from taskgate.principal import Principal
from taskgate.receivers import Health, receiver_at
from taskgate.settings import Retention
from taskgate.switches import NOTHING_PAUSED, Switch, Switches
from taskgate.task import CancelMode, Duty, Task

IN_LANE: Final = frozenset({State.CREATED, State.QUEUED, State.RETRYING})
ACTIONS: Final[Mapping[str, Verb]] = {
    "cancel": Verb.CANCEL,
    "priority": Verb.PRIORITIZE,
    "reschedule": Verb.RESCHEDULE,
    "extend": Verb.EXTEND,
    "recover": Verb.RESCUE,
    "retry": Verb.REOPEN,
    "redeliver": Verb.REDELIVER,
}
"""Routes that its owner may ask for, by the verb that must know the state."""
OPERATORS: Final[Mapping[str, Verb]] = {"pause": Verb.PAUSE, "resume": Verb.RESUME}


@dataclass(frozen=True, slots=True)
class Holder:
    """The worker of the present attempt."""

    worker: str
    started_at: int
    last_sign_at: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Explanation:
    """One task, explained."""

    task: Task
    why: str
    waits_for: str | None
    look: Look | None
    limit: NextLimit | None
    holder: Holder | None
    waiting: int | None
    """About how many messages wait in its lane, its own among them; None when it is in none."""
    owes: Debts | None
    """What it owes, once it has ended."""
    actions: Sequence[str]
    sentences: Sequence[str]
    in_turn: bool = False
    """It waits for its turn, and nothing else keeps it from starting."""
    pulse: Pulse | None = None


def explained(
    ports: Ports,
    principal: Principal,
    task_id: str,
    switches: Switches = NOTHING_PAUSED,
    beat: int | None = None,
    keep: Retention = FOREVER,
    catalog: Catalog | None = None,
) -> Explanation:
    """The task, explained to its owner or to an operator: 2 calls, and 2 more while it waits.

    `beat` is in seconds; without it nothing is said of workers, nor of its type without the catalog.
    """
    principal.require("tasks:read")
    task, pulse = ports.tasks.get_with_pulse(task_id)
    task = within_time(task, principal, ports.now(), keep)
    current = pulse if pulse and pulse.attempt == task.attempt else None
    waiting = _waiting(ports, task) if task.state in IN_LANE else None
    workers = attending(ports, task.lane, beat) if beat and waiting is not None else None
    manages = principal.manages(task.owner)
    receiver = _receiver(ports, task) if Duty.CALLBACK in task.owes else None
    return explain(
        task,
        current,
        waiting,
        ports.now(),
        operator=manages,
        receiver=receiver,
        switches=switches,
        workers=workers,
        kind=catalog.find(task.type) if catalog else None,
    )


def explain(
    task: Task,
    pulse: Pulse | None,
    waiting: int | None,
    now: int,
    *,
    operator: bool = False,
    receiver: Health | None = None,
    switches: Switches = NOTHING_PAUSED,
    workers: int | None = None,
    kind: TaskType | None = None,
) -> Explanation:
    """The whole story from the record, the pulse of the present attempt and the lane's count.

    `receiver` is how the one whom the task still has to call back has answered lately; `workers` how
    many of its pool are there; `kind` is its type, while it is served.
    """
    stand = _stand(task, now, switches, workers)
    found = Explanation(
        task=task,
        why=stand.why,
        waits_for=stand.waits_for,
        look=next_look(task, now),
        limit=stand.limit,
        holder=_holder(task, pulse),
        waiting=waiting,
        owes=debts_of(task, receiver),
        actions=_actions(task, operator=operator),
        sentences=(),
        in_turn=_in_turn(task, stand, workers, now),
        pulse=pulse,
    )
    told = _told(found, stand.switch, kind, now)
    return replace(found, sentences=[sentence for sentence in told if sentence])


def _told(
    found: Explanation, switch: Switch | None, kind: TaskType | None, now: int
) -> Sequence[str | None]:
    """The same in sentences, in the order in which they are read; None where nothing is to be said."""
    task = found.task
    return (
        found.why,
        canceling.told(task, found.pulse, now),
        _held(found.holder, now),
        held_back(switch, now),
        found.waits_for and f"It waits for {found.waits_for}.",
        _lane(task, found.waiting),
        *_caps(task, kind),
        *debt_sentences(task, found.owes, now),
        look_sentence(found.look, now),
        limit_sentence(found.limit, now),
        _budgets(task),
    )


class _Stand(NamedTuple):
    """Why it is where it is, and what ends that."""

    why: str
    waits_for: str | None
    limit: NextLimit | None
    switch: Switch | None = None
    """The one that holds it back."""


def _stand(task: Task, now: int, switches: Switches, workers: int | None) -> _Stand:
    why, waits_for = STORIES[task.state](task, now)
    held = switches.holding(task.lane, task.type, now) if task.state in IN_LANE else None
    if held:
        # Nothing that is held back has waited too long: only its deadline goes on.
        ends = NextLimit("deadline", task.deadline_at, State.TIMED_OUT)
        return _Stand(why, f"an operator to resume {named(held)}", ends, held)
    if workers == 0:
        waits_for = f"a worker of the pool {pool_of(task.lane)}: none was heard of lately"
    return _Stand(why, waits_for, next_limit(task, switches.held_at(task.lane, task.type, now)))


def _in_turn(task: Task, stand: _Stand, workers: int | None, now: int) -> bool:
    due = (task.not_before or 0) <= now
    return task.state in IN_LANE and not stand.switch and workers != 0 and due


def _waiting(ports: Ports, task: Task) -> int | None:
    try:
        return ports.lanes.waiting(task.lane)
    except Unavailable as error:
        swallowed("lane_uncounted", error, task=task.id)
        return None


def _receiver(ports: Ports, task: Task) -> Health | None:
    url = task.callback.url if task.callback else ""
    try:
        return ports.receivers.get(receiver_at(task.owner.tenant, url))
    except Unavailable as error:
        swallowed("receiver_unread", error, task=task.id)
        return None


def _holder(task: Task, pulse: Pulse | None) -> Holder | None:
    if task.state not in HELD or task.worker is None:
        return None
    beat_at = pulse.beat_at if pulse else None
    started_at = task.started_at or task.since
    return Holder(task.worker, started_at, max(started_at, last_sign(task, beat_at)))


def _actions(task: Task, *, operator: bool) -> list[str]:
    known = {**ACTIONS, **(OPERATORS if operator else {})}
    found = [name for name, verb in known.items() if task.state in RULES[verb].sources]
    if task.state in HELD and "pause" in found:
        found.remove("pause")  # only its worker may hand back what it holds
    if task.callback is None and "redeliver" in found:
        found.remove("redeliver")
    if task.state is State.CANCELING and not transitions.hardens(task, CancelMode.HARD):
        found.remove("cancel")  # there is nothing more to ask for
    if task.state is State.STALLED:
        found.append("fail")
    return sorted(found)


def _held(holder: Holder | None, now: int) -> str | None:
    if holder is None:
        return None
    silent = about(now - holder.last_sign_at)
    return f"Worker {holder.worker} holds it and was last heard of {silent} ago."


def _lane(task: Task, waiting: int | None) -> str | None:
    if waiting is None:
        return None
    wait = "task waits" if waiting == 1 else "tasks wait"
    # SQS tells how many there are, never which is where.
    return f"About {waiting} {wait} in lane {task.lane}; tenants take turns, so its place is not known."


def _caps(task: Task, kind: TaskType | None) -> Iterator[str]:
    if task.state not in IN_LANE:
        return
    if task.max_processing is not None:
        yield f"Of your tenant, at most {task.max_processing} run at the same time."
    if kind and kind.max_processing is not None:
        yield f"Of its type, at most {kind.max_processing} run at the same time, whoever's they are."


def _budgets(task: Task) -> str | None:
    if task.state.ended:
        return None
    b = task.budgets
    return (
        f"Left: {b.retries.left} retries after errors, {b.crashes.left} after lost workers,"
        f" {b.interruptions.left} after interruptions."
    )
