"""Plans: what a key may ask for, as data. What is on record goes before what is built in.

Every method of the ports may raise `Unavailable`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Protocol

from taskgate.errors import BadSetting
from taskgate.marks import Mark
from taskgate.settings import MOST_UPLOAD_BYTES, PRIORITIES
from taskgate.shards import MOST_LEDGER_SHARDS
from taskgate.slots import MOST_SLOTS

MOST_PER_MINUTE: Final = 60_000
"""The rate is kept in whole milliseconds between two submits."""


def _check(plan: object, name: str, least: int, most: int) -> None:
    value = getattr(plan, name)
    if value is not None and not least <= value <= most:
        raise BadSetting(name, value, f"{least} to {most}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """The limits of everybody whose key names it. None means: not limited."""

    name: str
    max_pending: int = 3
    """Unfinished tasks of one user."""
    submits_per_minute: int | None = None
    """Of one user, in the long run."""
    burst: int = 1
    """So many submits may come at once."""
    priorities: frozenset[str] = frozenset(PRIORITIES)
    max_processing: int | None = None
    """Tasks of one tenant that run at the same time."""
    max_upload_bytes: int | None = None
    """Of one file."""
    ledger_shards: int = 1
    """Items that one user's books are kept in: more take more submits and ends at the same time."""
    version: int = 0
    trail: tuple[Mark, ...] = ()
    """Who set it, and when."""

    def __post_init__(self) -> None:
        _check(self, "max_pending", 1, 1_000_000)
        _check(self, "submits_per_minute", 1, MOST_PER_MINUTE)
        _check(self, "burst", 1, 10_000)
        _check(self, "max_processing", 1, MOST_SLOTS)
        _check(self, "max_upload_bytes", 1, MOST_UPLOAD_BYTES)
        _check(self, "ledger_shards", 1, MOST_LEDGER_SHARDS)
        if not self.priorities or self.priorities - set(PRIORITIES):
            found = ",".join(sorted(self.priorities))
            raise BadSetting("priorities", found, "some of " + ", ".join(PRIORITIES))

    @property
    def terms(self) -> Mapping[str, object]:
        """What every JSON of a plan says, but for its trail."""
        return {
            "name": self.name,
            "max_pending": self.max_pending,
            "submits_per_minute": self.submits_per_minute,
            "burst": self.burst,
            "priorities": sorted(self.priorities),
            "max_processing": self.max_processing,
            "max_upload_bytes": self.max_upload_bytes,
            "ledger_shards": self.ledger_shards,
            "version": self.version,
        }


FREE: Final = Plan(
    name="free",
    max_pending=3,
    submits_per_minute=30,
    burst=10,
    priorities=frozenset({"normal", "low"}),
    max_processing=2,
    max_upload_bytes=20 * 1024**2,
)
PAID: Final = Plan(
    name="paid",
    max_pending=100,
    submits_per_minute=600,
    burst=100,
    max_processing=20,
    max_upload_bytes=1024**3,
)
OPERATOR: Final = Plan(name="operator", max_pending=1000, submits_per_minute=6000, burst=1000)
BUILT_IN: Final[Mapping[str, Plan]] = {plan.name: plan for plan in (FREE, PAID, OPERATOR)}
UNPLANNED: Final = Plan(name="")
"""Of keys that name no plan, as all did before there were plans: only their own `max_pending`."""


class Plans(Protocol):
    """The plans on record, for one who asks what a key may do."""

    def get_plan(self, name: str) -> Plan | None:
        """The plan as it was set, read consistently; None when nobody set it."""


class PlanStore(Plans, Protocol):
    """The plans on record, for one who keeps them."""

    def write_plan(self, plan: Plan) -> bool:
        """Write the plan over the one of `plan.version`, 0 being none; False when it is not there.

        The stored plan has the next version.
        """

    def list_plans(self) -> Sequence[Plan]:
        """The plans that were set, by name; one that was just set may be missing for a moment."""


def plan_of(plans: Plans, name: str | None) -> Plan:
    """The plan of that name: as it was set, or as it is built in.

    A name that means nothing is given the least, so that a mistake opens no door.
    """
    if name is None:
        return UNPLANNED
    return plans.get_plan(name) or BUILT_IN.get(name, FREE)


class BuiltIn:
    """`Plans` without a store."""

    def get_plan(self, name: str) -> Plan | None:
        return BUILT_IN.get(name)
