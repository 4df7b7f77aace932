"""The caps on what runs at the same time: of a tenant by its plan, of a type by the catalog.

A slot is taken before the claim and never given back at an end. Who meets a full cap reads the tasks
that hold its slots and frees those whose task does not run any more: so a worker that dies, a task
that is canceled and a lost answer leak nothing, and an end costs no further call.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final

from taskgate.catalog import Catalog
from taskgate.errors import Unavailable
from taskgate.events import swallowed
from taskgate.lifecycle.states import HELD
from taskgate.ports import Message, Ports
from taskgate.slots import Slot, Slots
from taskgate.task import Task

MAX_TRIES: Final = 3
FULL_MS: Final = 1_000
"""A cap that was full is not asked again for so long: a lane may hold a thousand tasks behind it."""


@dataclass(frozen=True, slots=True)
class Places:
    """The slots that a claim holds; or none, and which cap was full."""

    task_id: str
    slot: Slot
    keys: tuple[str, ...] = ()
    full: str = ""
    refusals: int = 0
    """How often this worker met the full cap of late: about its share of what waits behind it."""


@dataclass
class Caps:
    """The caps that one worker's claims keep. `lease` is seconds."""

    ports: Ports
    slots: Slots
    catalog: Catalog
    lease: int
    draw: Callable[[], float]
    _full: dict[str, int] = field(default_factory=dict)
    _refusals: dict[str, int] = field(default_factory=dict)

    def hold(self, message: Message) -> Places:
        """Take a slot of each cap that the task is under: 1 call for each, none without a cap.

        Raises `Unavailable`: where slots cannot be kept, pulses cannot either, and a run that
        nobody can watch is better not begun.
        """
        slot = Slot(message.attempt + 1, self.ports.now())
        held = Places(message.task_id, slot)
        for key, most in self._caps(message):
            if not self._took(key, message.task_id, slot, most):
                self.let_go(held)
                refusals = self._refusals[key] = self._refusals.get(key, 0) + 1
                return Places(message.task_id, slot, full=key, refusals=refusals)
            # Halved and not forgotten: one start does not mean that the rest has gone.
            self._refusals[key] = self._refusals.pop(key, 0) // 2
            held = Places(message.task_id, slot, (*held.keys, key))
        return held

    def let_go(self, places: Places) -> None:
        """Nothing was claimed: the slots are for others, unless the task runs elsewhere."""
        try:
            task = self.ports.tasks.get(places.task_id) if places.keys else None
            if task is None or task.state not in HELD:
                for key in places.keys:
                    self.slots.free(key, {places.task_id: places.slot})
        except Unavailable as error:
            # Who meets the full cap finds them unused.
            swallowed("slot_not_freed", error, task=places.task_id)

    def _caps(self, message: Message) -> Iterator[tuple[str, int]]:
        if message.tenant and message.max_processing:
            yield f"SLOTS#tenant#{message.tenant}", message.max_processing
        kind = self.catalog.find(message.type)
        if kind and kind.max_processing:
            yield f"SLOTS#type#{kind.name}", kind.max_processing

    def _took(self, key: str, task_id: str, slot: Slot, most: int) -> bool:
        if slot.at < self._full.get(key, 0):
            return False
        for _ in range(MAX_TRIES):
            held = self.slots.take(key, task_id, slot, most)
            if held is None:
                return True
            unused = self._unused(held, slot.at)
            if not unused:
                break
            # Another may free the same ones at this moment; then there is room as well.
            self.slots.free(key, unused)
        self._full[key] = slot.at + FULL_MS
        return False

    def _unused(self, held: Mapping[str, Slot], now: int) -> Mapping[str, Slot]:
        tasks = self.ports.tasks.get_many(list(held))
        return {i: slot for i, slot in held.items() if not self._used(tasks.get(i), slot, now)}

    def _used(self, task: Task | None, slot: Slot, now: int) -> bool:
        if task is not None and task.state in HELD:
            # By whatever attempt: a task that was taken over runs in the slot of the one before.
            return True
        over = task is not None and task.attempt >= slot.attempt
        # Not claimed yet: it may be just now. A worker that needs longer than a lease is gone.
        return not over and now < slot.at + self.lease * 1000
