"""The supervisor: poll, claim, have it run, hand the ending over, and again; one task at a time.

Threads: this loop; a heart for each attempt (`heart`); the finisher (`ending`); the signals'
(`stop`); the watchdog; the roster's (`presence`); the Spot notice's (`spot`); the ECS agent's
(`protection`). Only this loop
starts and talks to the child.
"""

from __future__ import annotations

import itertools
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from gpu_worker.attempt import Attempt
from gpu_worker.child_process import Child
from gpu_worker.ending import Ending, Finisher
from gpu_worker.fitness import Check, lanes_fit_lease
from gpu_worker.health import Health
from gpu_worker.heart import Heart
from gpu_worker.lanes import LanePoller, lane_names
from gpu_worker.limits import Limits, RunTime
from gpu_worker.nursery import Nursery, Unfit
from gpu_worker.order import order_for
from gpu_worker.outcome import Broken, Canceled, Done, Lost, Outcome
from gpu_worker.patience import NotFetched, Patience
from gpu_worker.presence import Presence
from gpu_worker.protection import Protection
from gpu_worker.protocol import Run
from gpu_worker.settings import WorkerSettings
from gpu_worker.stop import Stop
from gpu_worker.veil import Veil
from gpu_worker.watchdog import Watchdog
from taskgate.catalog import Catalog, TaskType
from taskgate.errors import BadSetting, Unavailable
from taskgate.events import event, swallowed
from taskgate.gateway.work.worker import Failure, Held, Released, WorkerGateway
from taskgate.lifecycle.retry import ErrorCode
from taskgate.ports import Delivery, Ports
from taskgate.roster import BEATS_A_SIGN
from taskgate.scratch import Scratch
from taskgate.settings import Environment
from taskgate.spans import NOBODY, Spans

EXIT_OK: Final = 0
EXIT_UNFIT: Final = 3
_CLAIM_AGAIN_AFTER: Final = 5
_CANCEL_MARGIN: Final = 2
_MARGIN: Final = 1.0
_LOOK_AGAIN_AFTER: Final = 2.0
SETUPS_IN_A_ROW: Final = 2
"""So many setups that failed with a task in hand say that the host, not the task, is at fault."""
SCRATCH: Final = "taskgate-worker-"
"""Begins the name of a worker's folder: the next worker clears those whose owners are gone."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Workplace:
    """All that a supervisor works with."""

    ports: Ports
    gateway: WorkerGateway
    catalog: Catalog
    environment: Environment
    settings: WorkerSettings
    stop: Stop
    protection: Protection = field(default_factory=Protection)
    health: Health = field(default_factory=Health)
    spans: Spans = NOBODY
    checks: tuple[Check, ...] = ()
    """Hold at any time."""
    empty_checks: tuple[Check, ...] = ()
    """Hold while no child lives."""


class Supervisor:
    """Serves until it is asked to leave, or finds itself unfit."""

    def __init__(self, place: Workplace) -> None:
        self._place, self._settings, self._stop = place, place.settings, place.stop
        self._types = _types(place)
        self._poller = LanePoller(
            place.ports.lanes,
            self._settings.pool,
            self._settings.watch,
            place.stop,
            place.gateway.paused,
        )
        self._finisher = Finisher(place.gateway, place.spans)
        self._watchdog = Watchdog(self._settings.silent_limit)
        self._presence = _presence(place)
        self._numbers = itertools.count(1)
        self._failed_setups = 0

    def serve(self) -> int:
        """Returns the exit code, with no child, no thread and no file left behind."""
        scratch = Scratch(self._settings.scratch, SCRATCH)
        preload = self._types if self._settings.preload else ()
        place, health = self._place, self._place.health
        nursery = Nursery(
            scratch,
            preload,
            place.checks,
            self._stop,
            health.moves,
            place.empty_checks,
            lend=self._settings.lend_credentials,
        )
        health.start()
        self._watchdog.start()
        self._place.protection.start()
        self._presence.start()
        try:
            return self._serve(nursery, scratch)
        finally:
            nursery.close()
            # A finished run's upload is worth the rest of the drain.
            self._finisher.wait(self._stop.time_left - _MARGIN)
            self._presence.close()
            self._place.protection.close()
            self._watchdog.close()
            health.close()
            scratch.close()
            place.spans.flush()
            event("left")

    def _serve(self, nursery: Nursery, scratch: Scratch) -> int:
        event("started", pool=self._settings.pool)
        try:
            self._require_fitting_lanes()
            while not self._stop.asked:
                self._turn(nursery, scratch)
        except Unfit as unfit:
            event("unfit", why=str(unfit))
            return EXIT_UNFIT
        return EXIT_OK

    def _require_fitting_lanes(self) -> None:
        names, lease = lane_names(self._settings.pool), self._place.environment.lease
        while not self._stop.asked:
            try:
                problem = lanes_fit_lease(self._place.ports.lanes, names, lease)
            except Unavailable as error:
                swallowed("lanes_unknown", error)
                self._stop.wait(_LOOK_AGAIN_AFTER)
                continue
            if problem:
                raise Unfit(problem)
            return

    def _turn(self, nursery: Nursery, scratch: Scratch) -> None:
        child = nursery.child()
        if child is None:
            return
        self._place.health.ready()
        with self._watchdog.expecting("poll"):
            delivery = self._poller.next()
        if delivery is None:
            if self._finisher.wait(0):
                self._place.protection.release()
            return
        if self._stop.asked or nursery.died_idle(child):
            # Nobody has claimed it: no attempt is spent.
            self._poller.put_back(delivery)
        elif held := self._claimed(delivery):
            outcome = self._attend(held, child, scratch)
            if isinstance(outcome, Canceled | Lost):
                nursery.doubt("a run was cut off")

    def _claimed(self, delivery: Delivery) -> Held | None:
        try:
            with self._watchdog.expecting("claim"):
                held = self._place.gateway.claim(delivery)
        except Exception as error:  # noqa: BLE001  one bad message must not end the worker
            swallowed("claim_failed", error, task=delivery.message.task_id)
            self._poller.put_back(delivery, _CLAIM_AGAIN_AFTER)
            return None
        if isinstance(held, Released):
            return None
        event("claimed", task=held.task.id, type=held.task.type, attempt=held.task.attempt)
        return held

    def _attend(self, held: Held, child: Child, scratch: Scratch) -> Outcome:
        self._place.protection.hold()
        self._presence.holds(held.task)
        heart = self._heart(held)
        heart.start()
        began, folder = time.monotonic(), scratch.folder("attempt")
        outcome = self._outcome(held, child, heart, folder)
        seconds = time.monotonic() - began
        self._finisher.take(Ending(heart.held, outcome, heart, folder, seconds))
        self._presence.ran(held.task, seconds if isinstance(outcome, Done) else None)
        self._presence.holds(None)
        if self._failed_setups >= SETUPS_IN_A_ROW:
            raise Unfit(f"{SETUPS_IN_A_ROW} setups in a row failed")
        return outcome

    def _outcome(self, held: Held, child: Child, heart: Heart, folder: Path) -> Outcome:
        number, now = next(self._numbers), self._place.ports.now
        patience = Patience(heart, RunTime(number, heart, now), self._stop)

        def go_on() -> None:
            self._place.health.moves()
            patience()

        files = self._place.gateway.files(held, go_on)
        try:
            order = order_for(held, self._place.catalog, number, folder, files)
        except NotFetched as ended:
            return ended.outcome
        return Broken(order) if isinstance(order, Failure) else self._ran(*order, child, heart)

    def _heart(self, held: Held) -> Heart:
        place, environment = self._place, self._place.environment
        veil = Veil(place.ports.lanes, held.delivery, environment.lease, environment.beat)
        return Heart(place.gateway, held, environment.beat, veil, place.protection.hold)

    def _ran(self, order: Run, task_type: TaskType, child: Child, heart: Heart) -> Outcome:
        limits, now = self._limits(task_type), self._place.ports.now
        moves = self._place.health.moves
        outcome = Attempt(order, child, heart, limits, self._stop, now, moves).run()
        failed = isinstance(outcome, Broken) and outcome.failure.code is ErrorCode.STARTUP_FAILED
        self._failed_setups = self._failed_setups + 1 if failed else 0
        return outcome

    def _limits(self, task_type: TaskType) -> Limits:
        environment = self._place.environment
        # A cancel is seen with the next beat, and the sweep enforces it after its grace.
        left = environment.cancel_grace - environment.beat - _CANCEL_MARGIN
        return Limits(
            startup=task_type.startup_timeout,
            kill_grace=max(0.5, min(self._settings.kill_grace, left)),
        )


def _presence(place: Workplace) -> Presence:
    return Presence(
        roster=place.ports.roster,
        worker=place.gateway.worker,
        pool=place.settings.pool,
        every=place.environment.beat * BEATS_A_SIGN,
        now=place.ports.now,
        stop=place.stop,
        spreads=place.ports.spreads,
    )


def _types(place: Workplace) -> tuple[TaskType, ...]:
    pool, catalog = place.settings.pool, place.catalog
    types = tuple(t for t in catalog if t.pool == pool)
    if not types:
        raise BadSetting("TASKGATE_POOL", pool, "one of " + ", ".join(catalog.pools))
    if missing := set(lane_names(pool)) - set(place.environment.lanes):
        raise BadSetting("TASKGATE_LANES", sorted(place.environment.lanes), f"with {missing}")
    return types
