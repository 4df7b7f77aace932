"""The port of the slots: who of a tenant, or of a type, runs just now.

A slot is a lease tied to an attempt and never a bare counter: it names its task, so that the task's
own record tells whether the slot is still held. Nothing must be given back for it to become free.
Every method may raise `Unavailable`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Protocol

MOST_SLOTS: Final = 100
"""Of one key: its slots are one item, written whole at each claim, and read in one batch."""


@dataclass(frozen=True, slots=True)
class Slot:
    """Taken for this attempt at this time (epoch ms)."""

    attempt: int
    at: int


class Slots(Protocol):
    """The slots, by key: of a tenant or of a type."""

    def take(self, key: str, task_id: str, slot: Slot, most: int) -> Mapping[str, Slot] | None:
        """Hold a slot for the task, in one atomic step: None. Else take nothing: all that are held.

        A task that holds one already holds this one instead, and no second.
        """

    def free(self, key: str, held: Mapping[str, Slot]) -> bool:
        """Free these slots, all or none: False when one of them is not held as given any more."""
