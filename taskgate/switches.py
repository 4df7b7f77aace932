"""The operators' switches: intake, a task type or a lane is paused, by whom, since when and why.

They are data, all in one record, so that one read tells them all and no deploy rewrites them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Final, Protocol

from taskgate.lifecycle.history import cap_bytes

MAX_REASON: Final = 200
MAX_ACTS: Final = 20
"""Acts that a switch remembers."""


class Kind(StrEnum):
    """What a switch holds."""

    INTAKE = "intake"
    """No submit is accepted."""
    TYPE = "type"
    """No task of the type is started; submits are accepted, or refused as well."""
    LANE = "lane"
    """Nothing is started from the lane; submits are accepted."""


@dataclass(frozen=True, slots=True)
class Act:
    """One turn of a switch."""

    at: int
    by: str
    what: str
    """``pause`` or ``resume``."""
    reason: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Switch:
    """One switch as it was last turned. Times are epoch ms."""

    kind: Kind
    name: str = ""
    """Of the type or lane; empty for the intake."""
    paused: bool = False
    since: int = 0
    by: str = ""
    reason: str = ""
    until: int | None = None
    """It ends by itself then."""
    refuse: bool = False
    """Of a type: its submits are refused, too."""
    ended_at: int | None = None
    """When it was last resumed."""
    acts: tuple[Act, ...] = ()
    """The last ones, the latest last."""

    @property
    def key(self) -> str:
        return key_of(self.kind, self.name)

    def on(self, now: int) -> bool:
        """Whether it holds anything at this moment."""
        return self.paused and (self.until is None or now < self.until)

    def held_at(self, now: int) -> int | None:
        """The latest moment, not after now, at which it held something."""
        if self.on(now):
            return now
        return self.until if self.paused else self.ended_at

    def turned(self, act: Act, *, until: int | None = None, refuse: bool = False) -> Switch:
        """The switch after an act. A second pause keeps the moment of the first."""
        acts = (*self.acts, act)[-MAX_ACTS:]
        if act.what == "resume":
            return replace(self, paused=False, until=None, ended_at=act.at, refuse=False, acts=acts)
        return replace(
            self,
            paused=True,
            since=self.since if self.on(act.at) else act.at,
            by=act.by,
            reason=cap_bytes(act.reason, MAX_REASON),
            until=until,
            refuse=refuse,
            acts=acts,
        )


@dataclass(frozen=True, slots=True)
class Switches:
    """All switches that were ever turned."""

    version: int = 0
    by_key: Mapping[str, Switch] = field(default_factory=dict)
    read: bool = True
    """False when they could not be read: these are those last known, and another may hold a task."""

    def get(self, kind: Kind, name: str = "") -> Switch:
        """The switch, whether it was ever turned or not."""
        return self.by_key.get(key_of(kind, name)) or Switch(kind=kind, name=name)

    def on(self, kind: Kind, name: str, now: int) -> Switch | None:
        """The switch, when it is on."""
        found = self.by_key.get(key_of(kind, name))
        return found if found and found.on(now) else None

    def holding(self, lane: str, type_: str, now: int) -> Switch | None:
        """The switch that keeps a task of this lane and type from being started."""
        return self.on(Kind.LANE, lane, now) or self.on(Kind.TYPE, type_, now)

    def held_at(self, lane: str, type_: str, now: int) -> int | None:
        """The latest moment at which such a task could not be started; None when never."""
        both = (self.get(Kind.LANE, lane), self.get(Kind.TYPE, type_))
        return max((at for one in both if (at := one.held_at(now)) is not None), default=None)

    def with_(self, switch: Switch) -> Switches:
        """The same with this one in its place."""
        return replace(self, by_key={**self.by_key, switch.key: switch})


NOTHING_PAUSED: Final = Switches()


class SwitchStore(Protocol):
    """Where they are kept. Every method may raise `Unavailable`."""

    def read_switches(self) -> Switches:
        """All of them, read consistently: 1 call."""

    def write_switches(self, switches: Switches) -> bool:
        """Write over those of `switches.version`, 0 being none; False when others stand there.

        What is stored has the next version.
        """


def key_of(kind: Kind, name: str) -> str:
    """What a switch is kept under."""
    return f"{kind}#{name}" if name else kind.value
