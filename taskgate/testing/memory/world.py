"""A whole Taskgate in memory: every port, over one virtual clock."""

from __future__ import annotations

from dataclasses import dataclass, field

from taskgate.lifecycle.states import State
from taskgate.ports import Ports
from taskgate.testing.clock import VirtualClock
from taskgate.testing.memory.bulks import MemoryBulks
from taskgate.testing.memory.errands import MemoryErrands
from taskgate.testing.memory.keys import MemoryKeys
from taskgate.testing.memory.lanes import MemoryLanes
from taskgate.testing.memory.pulses import MemoryPulses
from taskgate.testing.memory.rates import MemoryRates
from taskgate.testing.memory.receivers import MemoryReceivers
from taskgate.testing.memory.results import MemoryResults
from taskgate.testing.memory.roster import MemoryRoster
from taskgate.testing.memory.slots import MemorySlots
from taskgate.testing.memory.spreads import MemorySpreads
from taskgate.testing.memory.switches import MemorySwitches
from taskgate.testing.memory.tasks import MemoryStore


@dataclass
class MemoryWorld:
    """A whole Taskgate without AWS: ports over one virtual clock."""

    clock: VirtualClock = field(default_factory=VirtualClock)
    visibility: int = 45
    clock_shards: int = 16

    def __post_init__(self) -> None:
        self.pulses = MemoryPulses()
        self.tasks = MemoryStore(self.clock, self.pulses, self.clock_shards)
        self.lanes = MemoryLanes(self.clock, self.visibility)
        self.results = MemoryResults()
        self.keys = MemoryKeys()
        self.slots = MemorySlots()
        self.switches = MemorySwitches()
        self.roster = MemoryRoster(self.clock)
        self.bulks = MemoryBulks()
        self.spreads = MemorySpreads(self.clock)
        self.errands = MemoryErrands(self.clock)
        self.receivers = MemoryReceivers()
        self.ports = Ports(
            tasks=self.tasks,
            pulses=self.pulses,
            rates=MemoryRates(self.clock),
            slots=self.slots,
            switches=self.switches,
            roster=self.roster,
            bulks=self.bulks,
            spreads=self.spreads,
            lanes=self.lanes,
            results=self.results,
            errands=self.errands,
            receivers=self.receivers,
            now=self.clock,
        )

    def state(self, task_id: str) -> State:
        return self.tasks.tasks[task_id].state
