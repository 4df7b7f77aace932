"""The footprints in memory."""

from __future__ import annotations

from collections.abc import Iterator

from taskgate.books import Footprint
from taskgate.testing.memory.world import MemoryWorld


class MemoryFootprints:
    """The `Footprints` over a `MemoryWorld`."""

    def __init__(self, world: MemoryWorld) -> None:
        self._world = world

    def pulses(self) -> Iterator[Footprint]:
        for pulse in list(self._world.pulses.pulses.values()):
            yield Footprint(pulse.task_id, pulse.attempt)

    def results(self, since: str) -> Iterator[Footprint]:
        for key in sorted(self._world.results.objects):
            kind, tenant, task_id, attempt = key.split("/")[:4]
            if kind == "r" and task_id >= since:
                yield Footprint(task_id, int(attempt), tenant)

    def forget(self, footprint: Footprint) -> None:
        pulse = self._world.pulses.pulses.get(footprint.task_id)
        if pulse and pulse.attempt <= footprint.attempt:
            del self._world.pulses.pulses[footprint.task_id]
