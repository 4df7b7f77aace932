"""Another priority for a task that waits: it moves to another lane of its pool."""

from __future__ import annotations

from typing import Final

from taskgate.errors import Unavailable
from taskgate.events import swallowed
from taskgate.gateway.door import admitting
from taskgate.gateway.stamps import stamp
from taskgate.gateway.steer.steering import changed
from taskgate.gateway.switching import KnownSwitches
from taskgate.gateway.views.reading import visible
from taskgate.lifecycle import transitions
from taskgate.lifecycle.change import Change
from taskgate.lifecycle.states import RULES, State, Verb
from taskgate.lifecycle.transitions import LONGEST_DELAY
from taskgate.ports import Message, Ports
from taskgate.principal import Principal
from taskgate.task import Task

MOVABLE: Final = RULES[Verb.PRIORITIZE].sources


def prioritize(
    ports: Ports,
    who: Principal,
    task_id: str,
    priority: str,
    reason: str = "",
    switches: KnownSwitches | None = None,
) -> Task:
    """Move a waiting task: 3 calls. Its old message is void, since a claim demands the lane.

    The owner may choose what the plan allows; an operator anything. A lost send is healed by the
    clock, as after any other way back into a lane. Where the switches cannot be read one may have
    held it: its queue limit then begins anew, since a wait too long is better than an end too early.
    """
    who.require("tasks:write")
    if "operator" not in who.scopes:
        admitting.check_priority(who, priority)
    task = visible(ports.tasks.get(task_id), who)
    # Of its own pool, whatever the catalog says by now: its workers are there.
    lane = f"{task.lane.rpartition('-')[0]}-{priority}"
    known = (switches or KnownSwitches()).now(ports)

    def change(current: Task) -> Change | None:
        if current.lane == lane and current.state in MOVABLE:
            return None
        made = stamp(ports.now(), who.actor_for(current.owner), reason or f"to the lane {lane}")
        held_at = known.held_at(current.lane, current.type, made.at) if known.read else made.at
        return transitions.prioritize(current, made, lane, held_at)

    after = changed(ports, task, change)
    if after.version != task.version:
        _send(ports, after)
    return after


def _send(ports: Ports, task: Task) -> None:
    """Its message, unless it has none while it waits; a retry's comes when that is due."""
    if task.state not in (State.QUEUED, State.RETRYING):
        return
    delay = -(-max(0, (task.not_before or 0) - ports.now()) // 1000)
    if delay > LONGEST_DELAY // 1000:
        return
    try:
        ports.lanes.send(task.lane, Message.of(task), delay)
    except Unavailable as error:
        swallowed("send_left_to_sweep", error, task=task.id)
