"""Bulk acts: a dry run that counts, a confirm that starts, and what one may ask on the way."""

from __future__ import annotations

import hmac
import secrets
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final

from taskgate.bulks import FITTING, Bulk, BulkAct, BulkState, BulkStore, Wanted
from taskgate.errors import (
    BadConfirmToken,
    BulkNotFound,
    FieldProblem,
    InvalidRequest,
    Unavailable,
)
from taskgate.events import event
from taskgate.gateway.office.bulk_finding import checked, parts
from taskgate.gateway.office.bulk_working import PER_RUN
from taskgate.gateway.stamps import new_task_id
from taskgate.ports import Page, Ports
from taskgate.principal import Principal
from taskgate.task import Task

MOST_COUNTED: Final = 2_000
"""Tasks that a dry run looks at; beyond it says "at least"."""
SAMPLE: Final = 10
CALLS: Final = {BulkAct.CANCEL: 3, BulkAct.REOPEN: 3, BulkAct.REDELIVER: 2}
"""AWS calls for each task: the read, the write, and the word or message that follows."""
MAX_TRIES: Final = 5
MAX_LOOKS: Final = 5
"""Store pages that one page of a list may cost."""


@dataclass(frozen=True, slots=True)
class DryRun:
    """What would be done: nothing was changed."""

    bulk: Bulk
    sample: Sequence[Task]
    calls: int
    minutes: int

    @property
    def token(self) -> str:
        return self.bulk.token()


def plan(
    ports: Ports,
    who: Principal,
    act: BulkAct,
    wanted: Wanted,
    reason: str,
    shards: int,
) -> DryRun:
    """Count what fits and keep the plan; it can be confirmed for 10 minutes.

    For operators; an administrator's ends at the own tenant.
    """
    who.require("admin")
    who.require("tasks:write")
    if not reason:
        raise InvalidRequest(fields=[FieldProblem("reason", "say why: each history keeps it")])
    now, bound = ports.now(), _bound_of(who)
    wanted = checked(act, _bounded(who, wanted, bound), now)
    bulk = Bulk(
        id=new_task_id(now).replace("task_", "bulk_"),
        act=act,
        # What is created from now on was not counted, and is left alone.
        wanted=replace(
            wanted,
            states=(wanted.states or FITTING[act]) & FITTING[act],
            until=min(wanted.until or now, now),
        ),
        operator=who.owner,
        key_id=who.key_id,
        reason=reason,
        secret=secrets.token_urlsafe(24),
        planned_at=now,
        bounded_to=bound,
    )
    return _counted(ports, bulk, shards)


def confirm(ports: Ports, who: Principal, bulk_id: str, token: str) -> Bulk:
    """Start it. The second confirm of the same changes nothing; the sweep does the work."""
    bulk = found(ports, who, bulk_id)
    right = hmac.compare_digest(token.encode(), bulk.token().encode())
    if not right or (bulk.operator, bulk.key_id) != (who.owner, who.key_id):
        raise BadConfirmToken
    if bulk.state is BulkState.STOPPED and bulk.started_at is None:
        raise BadConfirmToken("It was stopped before it began; look again, and confirm that one.")
    if bulk.state is not BulkState.PLANNED:
        return bulk
    now = ports.now()
    if now >= bulk.expires_at:
        raise BadConfirmToken("The dry run is too old; look again, and confirm that one.")
    started = replace(bulk, state=BulkState.RUNNING, started_at=now, due_at=now)
    if not store(ports).write_bulk(started):
        return found(ports, who, bulk_id)
    event("bulk_confirmed", bulk=bulk.id, act=bulk.act, count=bulk.count)
    return replace(started, version=started.version + 1)


def found(ports: Ports, who: Principal, bulk_id: str) -> Bulk:
    """The bulk act with its progress: 1 call. Another tenant's is not there for an administrator."""
    who.require("admin")
    bulk = store(ports).get_bulk(bulk_id)
    if bulk is None or not _sees(who, bulk):
        raise BulkNotFound
    return bulk


def recent(ports: Ports, who: Principal, start: str | None = None) -> Page[Bulk]:
    """A page of them, the latest first; it may be short or empty before the last."""
    who.require("admin")
    found: list[Bulk] = []
    for _ in range(MAX_LOOKS):
        page = store(ports).list_bulks(start)
        found += [bulk for bulk in page.rows if _sees(who, bulk)]
        start = page.next
        if start is None or found:
            break
    return Page(found, start)


def stop(ports: Ports, who: Principal, bulk_id: str) -> Bulk:
    """No further page of tasks is worked on; what was done stays done."""
    for _ in range(MAX_TRIES):
        bulk = found(ports, who, bulk_id)
        if bulk.state in (BulkState.DONE, BulkState.STOPPED):
            return bulk
        stopped = replace(bulk, state=BulkState.STOPPED, ended_at=ports.now(), due_at=None)
        if store(ports).write_bulk(stopped):
            event("bulk_stopped", bulk=bulk.id, actor=who.actor, done=bulk.done)
            return replace(stopped, version=stopped.version + 1)
    raise Unavailable


def store(ports: Ports) -> BulkStore:
    """Where they are kept; `Unavailable` in a room that has none."""
    if ports.bulks is None:
        raise Unavailable
    return ports.bulks


def _bound_of(who: Principal) -> str | None:
    return None if "operator" in who.scopes else who.owner.tenant


def _bounded(who: Principal, wanted: Wanted, bound: str | None) -> Wanted:
    """The filter within the tenant; one that names nothing is left to be refused as such."""
    if bound is None or wanted == Wanted():
        return wanted
    if wanted.tenant not in (None, bound):
        who.require("operator")
    return replace(wanted, tenant=bound)


def _sees(who: Principal, bulk: Bulk) -> bool:
    """An operator's is the operators', even when it names one tenant only."""
    bound = _bound_of(who)
    return bound is None or bulk.bounded_to == bound


def _counted(ports: Ports, bulk: Bulk, shards: int) -> DryRun:
    sample: list[Task] = []
    count = looked = 0
    for page in _pages(ports, bulk, shards):
        tasks = ports.tasks.get_many(page)
        fitting = [task for task in tasks.values() if bulk.wanted.fits(task)]
        count, looked = count + len(fitting), looked + len(page)
        sample += fitting[: SAMPLE - len(sample)]
        if looked >= MOST_COUNTED:
            bulk = replace(bulk, counted_all=False)
            break
    bulk = replace(bulk, count=count)
    if not store(ports).write_bulk(bulk):
        raise Unavailable
    event("bulk_planned", bulk=bulk.id, act=bulk.act, count=count, all=bulk.counted_all)
    kept = replace(bulk, version=1)
    return DryRun(kept, sample, count * CALLS[bulk.act], -(-count // PER_RUN))


def _pages(ports: Ports, bulk: Bulk, shards: int) -> Iterator[Sequence[str]]:
    for part in parts(ports, bulk, shards):
        start: str | None = None
        while True:
            page = part(start)
            if page.rows:
                yield page.rows
            start = page.next
            if start is None:
                break
