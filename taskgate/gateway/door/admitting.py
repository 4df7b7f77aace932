"""The limits at the door: what a plan allows, and how much the lanes can take."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from taskgate.errors import FieldProblem, LaneFull, PriorityNotAllowed, RateLimited, Unavailable
from taskgate.events import event, swallowed
from taskgate.gateway.door.chains import Step
from taskgate.ports import Ports
from taskgate.principal import Principal
from taskgate.task import Owner

REMEMBERED_MS: Final = 5_000


@dataclass(frozen=True, slots=True)
class Rate:
    """How often a user may do something: in the long run, and at once."""

    what: str
    a_minute: int
    burst: int

    def key(self, owner: Owner) -> str:
        """Where it is counted."""
        return f"RATE#{self.what}#{owner}"


def check_priority(principal: Principal, priority: str, field: str = "priority") -> None:
    """Raise `PriorityNotAllowed` unless the plan has this priority."""
    allowed = principal.plan.priorities
    if priority not in allowed:
        names = ", ".join(sorted(allowed))
        told = f"Your plan does not allow the priority {priority}; it allows {names}."
        raise PriorityNotAllowed(told, fields=[FieldProblem(field, told)])


def check_priorities(principal: Principal, steps: Sequence[Step], place: str = "then") -> None:
    """The same for all that follows: a chain is no way into a lane that its owner may not ask for."""
    for n, step in enumerate(steps):
        check_priority(principal, step.priority, f"{place}.{n}.priority")
        check_priorities(principal, step.then, f"{place}.{n}.then")


def check_rate(ports: Ports, principal: Principal, what: str = "submits") -> None:
    """Take one of the user's submits, 1 call; `RateLimited` with the time to come back.

    Other things that are asked for at the same rate are counted apart.
    """
    plan = principal.plan
    if plan.submits_per_minute is None:
        return
    rate = Rate(what, plan.submits_per_minute, plan.burst)
    told = f"Your plan allows {rate.a_minute} {what} a minute, and {rate.burst} at once."
    take(ports, principal.owner, rate, told)


def take(ports: Ports, owner: Owner, rate: Rate, told: str) -> None:
    """Take one of the user's, 1 call; else `RateLimited`, which says `told`."""
    try:
        again_at = ports.rates.admit(rate.key(owner), 60_000 // rate.a_minute, rate.burst)
    except Unavailable as error:
        # The rate keeps one user from hurting others; while it is away, nobody is to be hurt by
        # us instead. The books still hold each user to their unfinished tasks.
        swallowed("rate_not_checked", error, owner=str(owner))
        return
    if again_at is not None:
        event("rate_limited", owner=str(owner), what=rate.what)
        retry_after = max(1, -(-(again_at - ports.now()) // 1000))
        raise RateLimited(told, retry_after)


@dataclass
class LaneDepths:
    """How many tasks wait in each lane, remembered for a moment: to count costs a call."""

    _known: dict[str, tuple[int, int]] = field(default_factory=dict)

    def check(self, ports: Ports, lane: str, limit: int) -> None:
        """Raise `LaneFull` while more than `limit` wait in the lane."""
        waiting = self._waiting(ports, lane)
        if waiting > limit:
            event("lane_full", lane=lane, waiting=waiting, limit=limit)
            raise LaneFull(
                f"About {waiting} tasks wait in the lane {lane} already; it takes new ones again"
                f" when they are {limit} or fewer."
            )

    def _waiting(self, ports: Ports, lane: str) -> int:
        until, waiting = self._known.get(lane, (0, 0))
        if ports.now() < until:
            return waiting
        try:
            waiting = ports.lanes.waiting(lane)
        except Unavailable as error:
            # Not known is not full: the count is a courtesy, the promise is kept without it.
            swallowed("lane_not_counted", error, lane=lane)
            waiting = 0
        self._known[lane] = (ports.now() + REMEMBERED_MS, waiting)
        return waiting
