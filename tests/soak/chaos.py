"""What goes wrong during a soak: processes are killed, AWS stands still, clocks stop, people meddle."""

from __future__ import annotations

import os
import random
import signal
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Final

from taskgate.bulks import BulkAct, Wanted
from taskgate.catalog import CATALOG
from taskgate.errors import TaskgateError
from taskgate.gateway import switching
from taskgate.gateway.office import bulk
from taskgate.local import LocalStack
from taskgate.local.process import Child
from taskgate.ports import Ports
from taskgate.principal import SCOPES, Principal
from taskgate.settings import stage
from taskgate.switches import Kind, Switch
from taskgate.task import Owner
from tests.soak.figures import Figures

POOLS: Final = ("gpu", "gpu", "cpu")
DRAIN_SECONDS: Final = "4"
OPERATOR: Final = Principal(Owner("taskgate", "olga"), SCOPES, 1, "ops")
SWITCHES: Final = (
    Switch(kind=Kind.LANE, name="gpu-normal"),
    Switch(kind=Kind.LANE, name="cpu-high"),
    Switch(kind=Kind.TYPE, name="embed_document"),
    Switch(kind=Kind.TYPE, name="text_to_image"),
    Switch(kind=Kind.INTAKE),
)
SWEEP: Final = f"{stage('local').prefix}-stale-sweep"
OUTBOX: Final = f"{stage('local').prefix}-outbox-callback"


class Workers:
    """The workers, each replaced when it has died."""

    def __init__(self, stack: LocalStack, rng: random.Random) -> None:
        self._stack, self._rng = stack, rng
        self.running = [(pool, self._start(pool)) for pool in POOLS]

    def replace_dead(self) -> None:
        for pool, worker in list(self.running):
            if worker.exit_code is not None:
                worker.stop(timeout=1)
                self.running.remove((pool, worker))
                self.running.append((pool, self._start(pool)))

    def one(self) -> Child:
        return self._rng.choice(self.running)[1]

    def _start(self, pool: str) -> Child:
        return self._stack.start_worker(pool, {"TASKGATE_DRAIN": DRAIN_SECONDS})


class Chaos:
    """One act after another. What stops something for a while is undone by `mend`, in its time."""

    def __init__(
        self, stack: LocalStack, ports: Ports, owner: Owner, rng: random.Random, figures: Figures
    ) -> None:
        self.stack, self.ports, self.owner = stack, ports, owner
        self.rng, self.figures = rng, figures
        self.workers = Workers(stack, rng)
        self._mends: list[tuple[float, Callable[[], None]]] = []
        self._acts: dict[Callable[[], None], int] = {
            self._kill_worker: 4,
            self._kill_child: 4,
            self._drain: 3,
            self._storm: 1,
            self._stand_still: 1,
            self._turn_a_switch: 3,
            self._bulk: 2,
            self._stop_the_sweep: 1,
            self._stop_the_outbox: 1,
        }

    def act(self) -> None:
        """One thing goes wrong."""
        act = self.rng.choices(list(self._acts), list(self._acts.values()))[0]
        try:
            act()
        except TaskgateError as error:
            self.figures.done[f"{_name(act)}: {type(error).__name__}"] += 1
        else:
            self.figures.done[_name(act)] += 1

    def mend(self, *, everything: bool = False) -> None:
        """Undo what has lasted long enough, and replace who died."""
        self.workers.replace_dead()
        due = [m for m in self._mends if everything or m[0] <= time.monotonic()]
        for mend in due:
            mend[1]()
            self._mends.remove(mend)

    def _lasts(self, shortest: float, longest: float, mend: Callable[[], None]) -> None:
        self._mends.append((time.monotonic() + self.rng.uniform(shortest, longest), mend))

    # ---- processes ----------------------------------------------------------------------------

    def _kill_worker(self) -> None:
        self.workers.one().signal(signal.SIGKILL)

    def _kill_child(self) -> None:
        for pid in descendants(self.workers.one().pid):
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)

    def _drain(self) -> None:
        self.workers.one().signal(signal.SIGTERM)

    def _storm(self) -> None:
        for _, worker in self.workers.running:
            worker.signal(signal.SIGTERM)

    def _stand_still(self) -> None:
        """The whole of AWS stands still for some seconds."""
        pid = self.stack.emulator_pid
        os.kill(pid, signal.SIGSTOP)
        time.sleep(self.rng.uniform(1, 6))
        os.kill(pid, signal.SIGCONT)

    # ---- people -------------------------------------------------------------------------------

    def _turn_a_switch(self) -> None:
        switch = self.rng.choice(SWITCHES)
        switching.pause(self.ports, CATALOG, OPERATOR, switch, "soak")
        # Long enough that every room has heard of it.
        self._lasts(7, 20, lambda: self._resume(switch))

    def _resume(self, switch: Switch) -> None:
        switching.resume(self.ports, CATALOG, OPERATOR, switch, "soak")

    def _bulk(self) -> None:
        """Of all that is young: confirmed at once, and done by the sweep's function."""
        act, shards = self.rng.choice(list(BulkAct)), self.stack.environment.clock_shards
        since = self.ports.now() - (8_000 if act is BulkAct.CANCEL else 60_000)
        wanted = Wanted(tenant=self.owner.tenant, user=self.owner.user, since=since)
        dry = bulk.plan(self.ports, OPERATOR, act, wanted, "soak", shards)
        bulk.confirm(self.ports, OPERATOR, dry.bulk.id, dry.token)
        self.figures.in_bulk[act.value] += dry.bulk.count

    # ---- clocks -------------------------------------------------------------------------------

    def _stop_the_sweep(self) -> None:
        self._stop_rule(SWEEP)

    def _stop_the_outbox(self) -> None:
        """Neither its stream and queue nor its backstop."""
        self._stop_rule(OUTBOX)
        client = self.stack.client("lambda")
        found = client.list_event_source_mappings(FunctionName=OUTBOX)["EventSourceMappings"]
        for mapping in found:
            client.update_event_source_mapping(UUID=mapping["UUID"], Enabled=False)
            self._lasts(20, 60, lambda i=mapping["UUID"]: self._enable(i))

    def _enable(self, mapping: str) -> None:
        self.stack.client("lambda").update_event_source_mapping(UUID=mapping, Enabled=True)

    def _stop_rule(self, name: str) -> None:
        events = self.stack.client("events")
        events.disable_rule(Name=name)
        self._lasts(30, 90, lambda: events.enable_rule(Name=name))


def descendants(pid: int) -> list[int]:
    """The children of a process and theirs, without the process itself."""
    found: list[int] = []
    for task in Path(f"/proc/{pid}/task").glob("*/children"):
        with suppress(OSError):
            for child in map(int, task.read_text().split()):
                found += [child, *descendants(child)]
    return found


def _name(act: Callable[[], None]) -> str:
    return act.__name__.strip("_").replace("_", " ")
