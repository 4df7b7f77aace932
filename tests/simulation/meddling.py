"""What people do to a simulated Taskgate: operators pause and act on many, owners change their minds.

Each is the real verb over flaky ports, so each may be lost before or after it took effect.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from taskgate.bulks import FITTING, BulkAct, Wanted
from taskgate.catalog import CATALOG
from taskgate.errors import Problem, TaskgateError, Unavailable
from taskgate.gateway import switching
from taskgate.gateway.door import prioritizing
from taskgate.gateway.office import bulk, bulk_working
from taskgate.lifecycle.change import Change
from taskgate.lifecycle.retry import ErrorCode
from taskgate.lifecycle.states import Verb
from taskgate.principal import SCOPES, Principal
from taskgate.results import Stored
from taskgate.switches import Kind, Switch
from taskgate.task import Owner
from taskgate.testing.faults import Crash
from taskgate.uploads import key_of, new_upload_id

if TYPE_CHECKING:
    from tests.simulation.world import Simulation

OPERATOR: Final = Principal(Owner("taskgate", "olga"), SCOPES, 1, "ops")
TYPE: Final = "embed_document"
DOCUMENT: Final = Stored(size=1, content_type="text/plain")
SWITCHES: Final = (
    Switch(kind=Kind.LANE, name="cpu-high"),
    Switch(kind=Kind.LANE, name="cpu-normal"),
    Switch(kind=Kind.LANE, name="cpu-low"),
    Switch(kind=Kind.TYPE, name=TYPE),
    Switch(kind=Kind.INTAKE),
)
MEDDLED: Final = 2 * 3600
"""Seconds after which operators leave it alone, all switches off."""


class Meddlers:
    """Acts once a simulated minute, and knows when a task was really held back."""

    def __init__(self, world: Simulation) -> None:
        self.world, self.rng = world, world.rng
        self.unfair: list[str] = []
        """Tasks that ended by their queue limit although a switch had lately held them."""
        self._lanes: dict[str, str] = {}
        self._held: dict[str, int] = {}

    def minute(self) -> None:
        """One look of the operators."""
        calm = self.world.clock() > self.world.start + MEDDLED * 1000
        for switch in SWITCHES:
            self._tried("switch", lambda s=switch: self._turn(s, calm=calm))
        if not calm and self.rng.random() < self.world.odds.bulk:
            self._tried("bulk", self._bulk)

    def work(self) -> None:
        """The bulk acts, after the sweep."""
        world = self.world
        shards, stop_at = world.world.clock_shards, world.clock() + 20_000
        self._tried("bulk work", lambda: bulk_working.work(world.ports, CATALOG, shards, stop_at))

    def prioritize_later(self, who: Principal, task_id: str) -> None:
        """Its owner gives it another priority, once or twice."""
        for _ in range(self.rng.randint(1, 2)):
            priority = self.rng.choice(("high", "normal", "low"))
            self.world.at(
                self.rng.uniform(0, 1800),
                lambda p=priority: self._tried("priority", lambda: self._move(who, task_id, p)),
            )

    def upload(self, who: Principal) -> dict[str, Any]:
        """An input that is an upload, which may vanish before its task has read it."""
        upload_id, objects = new_upload_id(self.world.clock()), self.world.world.results
        key = key_of(who.owner, upload_id)
        objects.post(objects.form(key, DOCUMENT, 60), b"x")
        if self.rng.random() < self.world.odds.vanish:
            self.world.at(self.rng.uniform(1, 300), lambda: objects.remove(key))
        return {"document": {"upload": upload_id}}

    def saw(self, change: Change) -> None:
        """A write that took effect: was its task held until a moment ago?"""
        task = self.world.world.tasks.tasks[change.task_id]
        now = self.world.clock()
        switches = self.world.world.switches.read_switches()
        lane = self._lanes.get(task.id, task.lane)
        held = max(self._held.get(task.id, 0), switches.held_at(lane, task.type, now) or 0)
        self._held[task.id], self._lanes[task.id] = held, task.lane
        over = task.error is not None and task.error.code is ErrorCode.QUEUE_TIMEOUT
        if change.verb is Verb.EXPIRE and over:
            self.world.happened["queue timeout"] += 1
            if now < held + task.limits.queue_timeout:
                self.unfair.append(task.id)

    def _tried(self, name: str, act: Callable[[], Any]) -> None:
        try:
            act()
        except (Unavailable, Crash):
            self.world.happened[f"{name} unclear"] += 1
        except (Problem, TaskgateError) as error:
            self.world.happened[f"{name}: {type(error).__name__}"] += 1

    def _turn(self, switch: Switch, *, calm: bool) -> None:
        ports, roll = self.world.ports, self.rng.random()
        on = self.world.world.switches.read_switches().get(switch.kind, switch.name).paused
        if on and (calm or roll < 0.04):
            switching.resume(ports, CATALOG, OPERATOR, switch, "mended")
            self.world.happened["resume"] += 1
        elif not (on or calm) and roll < self.world.odds.switch:
            switching.pause(ports, CATALOG, OPERATOR, switch, "the driver")
            self.world.happened[f"pause {switch.kind}"] += 1

    def _bulk(self) -> None:
        ports, act = self.world.ports, self.rng.choice(list(BulkAct))
        user = self.rng.choice((None, "user1", "user2"))
        wanted = Wanted(tenant="acme", user=user, since=None if user else self.world.start)
        shards = self.world.world.clock_shards
        dry = bulk.plan(ports, OPERATOR, act, _narrow(act, wanted), "together", shards)
        bulk.confirm(ports, OPERATOR, dry.bulk.id, dry.token)
        self.world.happened[f"bulk {act}"] += 1

    def _move(self, who: Principal, task_id: str, priority: str) -> None:
        prioritizing.prioritize(self.world.ports, who, task_id, priority)


def _narrow(act: BulkAct, wanted: Wanted) -> Wanted:
    """Without a user, ended tasks are found by their problems only."""
    if act is BulkAct.REDELIVER and wanted.user is None:
        return replace(wanted, states=FITTING[BulkAct.REOPEN])
    return wanted
