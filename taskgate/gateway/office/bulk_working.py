"""The work of bulk acts: after each sweep, page by page, as far as its minute goes.

A page is done and then written down with where the next one starts. Who dies between has done some
of it; the next run meets those tasks again, finds the bulk's id in their histories and leaves them.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final

from taskgate.bulks import Bulk, BulkAct, BulkState, BulkStore
from taskgate.catalog import Catalog
from taskgate.errors import TaskgateError, Unavailable
from taskgate.events import event, swallowed
from taskgate.gateway.office.bulk_finding import Part, due, parts
from taskgate.gateway.steer import operating, steering, telling
from taskgate.ports import Ports
from taskgate.principal import SCOPES, Principal
from taskgate.task import CancelMode, Task

PER_RUN: Final = 200
"""Tasks a minute of one bulk act: what is set going together must not all start together."""
LEASE_MS: Final = 90_000
"""So long nobody else works on it: longer than a run, so two sweeps at once do not double the pace."""
MAX_ROUNDS: Final = 3
"""Live tasks move in their index while it is read: it is read until a round finds nothing to do."""
MAX_REASONS: Final = 10
MAX_REFUSED: Final = 1_000
"""Of so many it is known which they are; beyond, one that is met again is counted again."""
OTHER: Final = "other"
_DONE: Final = ""
_FOUND_DONE: Final = "found done"
_UNFIT: Final = "unfit"


def work(ports: Ports, catalog: Catalog, shards: int, stop_at: int) -> int:
    """Work on what is due, until `stop_at` (epoch ms); returns how many tasks were acted on."""
    total, bulks = 0, ports.bulks
    if bulks is None:
        return 0
    for bulk_id in due(ports):
        try:
            total += _worked(ports, bulks, catalog, bulk_id, shards, stop_at)
        except Exception as error:  # noqa: BLE001  the others, and the sweep, must not pay for one
            # It is still due, or will be when its lease is over.
            swallowed("bulk_put_off", error, bulk=bulk_id)
    return total


def _worked(
    ports: Ports, bulks: BulkStore, catalog: Catalog, bulk_id: str, shards: int, stop_at: int
) -> int:
    bulk, acted = bulks.get_bulk(bulk_id), 0
    if bulk is None or bulk.state is not BulkState.RUNNING or (bulk.due_at or 0) > ports.now():
        return 0
    held = _written(bulks, replace(bulk, due_at=ports.now() + LEASE_MS))
    index = parts(ports, bulk, shards)
    while held is not None and held.state is BulkState.RUNNING:
        if ports.now() >= stop_at or acted >= PER_RUN:
            _written(bulks, replace(held, due_at=ports.now()))
            break
        page_of_it = _page(ports, catalog, held, index)
        acted += page_of_it.done - held.done
        held = _written(bulks, page_of_it)
    event("bulk_worked", bulk=bulk_id, act=bulk.act, acted=acted)
    return acted


def _written(bulks: BulkStore, bulk: Bulk) -> Bulk | None:
    """The bulk with its next version; None when somebody stopped it, or took it over."""
    return replace(bulk, version=bulk.version + 1) if bulks.write_bulk(bulk) else None


def _page(ports: Ports, catalog: Catalog, bulk: Bulk, index: Sequence[Part]) -> Bulk:
    """The bulk after its next page of tasks."""
    number, start = bulk.position
    page = index[number](start)
    outcomes = {task_id: _act(ports, catalog, bulk, task_id) for task_id in page.rows}
    met = Counter(outcomes.values())
    bulk = replace(
        _told(bulk, outcomes),
        done=bulk.done + met[_DONE],
        found_done=bulk.found_done + (met[_FOUND_DONE] if bulk.rounds == 0 else 0),
        position=(number, page.next) if page.next else (number + 1, None),
    )
    return bulk if bulk.position[0] < len(index) else _round_over(ports, bulk, len(index))


def _round_over(ports: Ports, bulk: Bulk, parts_: int) -> Bulk:
    acts = bulk.done + bulk.found_done + sum(bulk.failed.values())
    # A list of a user and of a day stand still; only the clocks of live tasks move.
    moving = bulk.act is BulkAct.CANCEL and parts_ > 1 and bulk.wanted.owner is None
    if moving and acts and bulk.rounds + 1 < MAX_ROUNDS:
        return replace(bulk, rounds=bulk.rounds + 1, position=(0, None))
    event("bulk_done", bulk=bulk.id, act=bulk.act, done=bulk.done, failed=sum(bulk.failed.values()))
    return replace(bulk, state=BulkState.DONE, ended_at=ports.now(), due_at=None)


def _act(ports: Ports, catalog: Catalog, bulk: Bulk, task_id: str) -> str:
    try:
        return _one(ports, catalog, bulk, task_id)
    except Unavailable:
        raise
    except Exception as error:  # noqa: BLE001  one bad record must not hold up those after it
        swallowed("bulk_act_broke", error, bulk=bulk.id, task=task_id)
        return "its record makes no sense"


def _one(ports: Ports, catalog: Catalog, bulk: Bulk, task_id: str) -> str:
    task = ports.tasks.get(task_id)
    if task is None or task.created_at >= (bulk.wanted.until or 0):
        return _UNFIT
    if _acted(bulk, task):
        return _FOUND_DONE
    if not bulk.wanted.fits(task):
        return _UNFIT
    try:
        _VERBS[bulk.act](ports, catalog, _operator(bulk), task, _mark(bulk) + bulk.reason)
    except Unavailable:
        raise
    except TaskgateError as error:
        # It moved on since it was read; the others are not held up by it.
        return str(error)
    return _DONE


def _acted(bulk: Bulk, task: Task) -> bool:
    """Whether this act has met the task before. An owner who has seen the id in one history can write
    it into the reason of another, which must shield no task: the operator's own entry is looked for.
    """
    actor = _operator(bulk).actor_for(task.owner)
    return any(e.actor == actor and e.reason.startswith(_mark(bulk)) for e in task.history)


def _mark(bulk: Bulk) -> str:
    return f"{bulk.id}: "


def _cancel(ports: Ports, catalog: Catalog, who: Principal, task: Task, reason: str) -> None:
    del catalog
    steering.cancel(ports, who, task.id, CancelMode.HARD, reason)


def _reopen(ports: Ports, catalog: Catalog, who: Principal, task: Task, reason: str) -> None:
    operating.reopen(ports, catalog, who, task.id, reason)


def _redeliver(ports: Ports, catalog: Catalog, who: Principal, task: Task, reason: str) -> None:
    del catalog
    telling.redeliver(ports, who, task.id, reason)


_VERBS: Final = {
    BulkAct.CANCEL: _cancel,
    BulkAct.REOPEN: _reopen,
    BulkAct.REDELIVER: _redeliver,
}


def _operator(bulk: Bulk) -> Principal:
    scopes = SCOPES if bulk.bounded_to is None else SCOPES - {"operator"}
    return Principal(bulk.operator, scopes, 1, bulk.key_id)


def _told(bulk: Bulk, outcomes: Mapping[str, str]) -> Bulk:
    """The bulk with what was left of a page. Tasks are counted, not tries: of one that is met again the
    last word counts, and one that was done after all was not left.
    """
    reasons = {i: reason for reason, ids in bulk.refused.items() for i in ids}
    failed = Counter(bulk.failed)
    for task_id, outcome in outcomes.items():
        if outcome in (_FOUND_DONE, _UNFIT):
            continue
        if before := reasons.pop(task_id, None):
            failed[before] -= 1
        if outcome != _DONE:
            reason = _named(outcome, failed)
            failed[reason] += 1
            reasons[task_id] = reason
    refused: dict[str, list[str]] = defaultdict(list)
    for task_id, reason in list(reasons.items())[:MAX_REFUSED]:
        refused[reason].append(task_id)
    return replace(bulk, failed=dict(+failed), refused=dict(refused))


def _named(reason: str, failed: Counter[str]) -> str:
    """Few reasons by name, the rest in one: the item must not grow with the mess."""
    return reason if reason in failed or len(failed) < MAX_REASONS else OTHER
