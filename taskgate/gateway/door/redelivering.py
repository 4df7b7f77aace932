"""Having a callback sent once more, at a rate of its own: each time makes us post to a receiver."""

from __future__ import annotations

from typing import Final

from taskgate.gateway.door import admitting
from taskgate.gateway.door.admitting import Rate
from taskgate.gateway.steer import telling
from taskgate.gateway.views.reading import FOREVER
from taskgate.ports import Ports
from taskgate.principal import Principal
from taskgate.settings import Retention
from taskgate.task import Task

REDELIVERIES: Final = Rate("redeliveries", a_minute=30, burst=10)
"""Of one user, whatever the plan says: a submit costs its user a place and a run, and this nothing.
Whoever has more to send again asks an operator for a bulk act, which has a pace of its own."""


def redeliver(ports: Ports, who: Principal, task_id: str, keep: Retention = FOREVER) -> Task:
    """Owe the callback once more: 3 calls. What cannot be done costs nothing of the rate."""
    task = telling.to_tell_again(ports, who, task_id, keep)
    admitting.take(
        ports,
        who.owner,
        REDELIVERIES,
        f"A user may ask for {REDELIVERIES.a_minute} redeliveries a minute,"
        f" and {REDELIVERIES.burst} at once.",
    )
    return telling.owe_again(ports, who, task)
