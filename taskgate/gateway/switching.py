"""Turning the operators' switches, and minding them: at the door, in the sweep and at the worker."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final

from taskgate.errors import (
    FieldProblem,
    IntakePaused,
    InvalidRequest,
    TypePaused,
    Unavailable,
)
from taskgate.events import event, swallowed
from taskgate.ports import Ports
from taskgate.principal import Principal
from taskgate.switches import NOTHING_PAUSED, Act, Kind, Switch, Switches, SwitchStore
from taskgate.task import Owner

if TYPE_CHECKING:
    from taskgate.catalog import Catalog

REMEMBERED_MS: Final = 5_000
"""A switch is minded everywhere so soon after it was turned."""
LONGEST_MS: Final = 30 * 86_400_000
COME_BACK: Final = 60
"""Seconds after which a refused caller may ask again, when no end is known."""
MAX_TRIES: Final = 5


@dataclass
class KnownSwitches:
    """The switches as they were read a moment ago: no call while what is known is fresh."""

    _known: Switches = NOTHING_PAUSED
    _until: int = field(default=-1)

    def now(self, ports: Ports) -> Switches:
        """The switches; those last known, not `read`, while the store is away.

        Nor does a record that makes no sense here, such as a later version's, stop what goes on.
        """
        if ports.switches is None or ports.now() < self._until:
            return self._known
        try:
            self._known = ports.switches.read_switches()
        except Exception as error:  # noqa: BLE001  a sweep or a worker without switches still works
            swallowed("switches_not_read", error)
            self._known = replace(self._known, read=False)
        self._until = ports.now() + REMEMBERED_MS
        return self._known


def admit(switches: Switches, type_: str, now: int) -> None:
    """Raise `IntakePaused` or `TypePaused` while an operator lets nothing in."""
    intake = switches.on(Kind.INTAKE, "", now)
    if intake:
        event("intake_paused", type=type_)
        raise IntakePaused(_told("The intake is paused", intake), _come_back(intake, now))
    paused = switches.on(Kind.TYPE, type_, now)
    if paused and paused.refuse:
        event("type_paused", type=type_)
        raise TypePaused(_told(f"The type {type_} is paused", paused), _come_back(paused, now))


def pause(
    ports: Ports,
    catalog: Catalog,
    who: Principal,
    switch: Switch,
    reason: str,
) -> Switch:
    """Turn on what `switch` names, with its `until` and `refuse`. Running tasks run on."""
    who.require("operator")
    if not reason:
        raise InvalidRequest(fields=[FieldProblem("reason", "say why: whoever waits is told")])
    _check(catalog, switch, ports.now())

    def turned(old: Switch) -> Switch:
        act = Act(ports.now(), who.actor_for(_NOBODY), "pause", reason)
        return old.turned(act, until=switch.until, refuse=switch.refuse)

    return _turned(ports, switch, turned)


def resume(ports: Ports, catalog: Catalog, who: Principal, switch: Switch, reason: str) -> Switch:
    """Turn it off. One that is off stays so, and nothing is written."""
    who.require("operator")

    def turned(old: Switch) -> Switch:
        # What is served no more can still be turned off; what nobody ever paused is a slip of the pen.
        _check(catalog, switch, ports.now(), served=not old.acts)
        if not old.on(ports.now()):
            return old
        return old.turned(Act(ports.now(), who.actor_for(_NOBODY), "resume", reason))

    return _turned(ports, switch, turned)


def every(ports: Ports, who: Principal) -> Sequence[Switch]:
    """All that were ever turned, as they are now: 1 call. Operators only."""
    who.require("operator")
    return list(_store(ports).read_switches().by_key.values())


def _turned(ports: Ports, switch: Switch, turn: Callable[[Switch], Switch]) -> Switch:
    store = _store(ports)
    for _ in range(MAX_TRIES):
        switches = store.read_switches()
        old = switches.get(switch.kind, switch.name)
        new = turn(old)
        if new == old:
            return old
        if store.write_switches(switches.with_(new)):
            last = new.acts[-1]
            event("switched", switch=new.key, what=last.what, actor=last.by)
            return new
    raise Unavailable


def _store(ports: Ports) -> SwitchStore:
    if ports.switches is None:
        raise Unavailable
    return ports.switches


def _check(catalog: Catalog, switch: Switch, now: int, *, served: bool = True) -> None:
    """Raise `InvalidRequest` by the field; the name counts where it must be `served`."""
    known = {
        Kind.INTAKE: {""},
        Kind.TYPE: {kind.name for kind in catalog},
        Kind.LANE: set(catalog.lanes()),
    }[switch.kind]
    if served and switch.name not in known:
        names = ", ".join(sorted(known)) if switch.name or switch.kind is not Kind.INTAKE else ""
        problem = f"one of {names}" if names else "the intake has no name"
        raise InvalidRequest(fields=[FieldProblem("name", problem)])
    if switch.until is not None and not now < switch.until <= now + LONGEST_MS:
        raise InvalidRequest(fields=[FieldProblem("until", "ahead, and at most 30 days")])
    if switch.refuse and switch.kind is not Kind.TYPE:
        raise InvalidRequest(fields=[FieldProblem("refuse", "only for a type")])


def _told(what: str, switch: Switch) -> str:
    return f"{what}: {switch.reason}. Nothing that was accepted is lost."


def _come_back(switch: Switch, now: int) -> int:
    if switch.until is None:
        return COME_BACK
    return min(COME_BACK, max(1, -(-(switch.until - now) // 1000)))


_NOBODY: Final = Owner("", "")
"""Whoever turns a switch does it as operator, not as somebody's owner."""
