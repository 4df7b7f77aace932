"""The workers, as those may see them who ask: everybody how many there are, operators each of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from taskgate.errors import Unavailable
from taskgate.events import swallowed
from taskgate.ports import Ports
from taskgate.principal import Principal
from taskgate.roster import BEATS_A_SIGN, SIGNS_MISSED, Sign, WorkerState

ALL: Final = tuple(WorkerState)


@dataclass(frozen=True, slots=True)
class Fleet:
    """How many workers of each state a pool has; and who they are, when the asker may know."""

    counts: Mapping[str, Mapping[WorkerState, int]]
    workers: Sequence[Sign] | None


def fleet(ports: Ports, principal: Principal, pools: Iterable[str], beat: int) -> Fleet:
    """2 calls for up to 100 workers, however many tasks there are. `beat` is in seconds.

    What a worker runs is a task of somebody: only an operator of all tenants is told which.
    """
    principal.require("tasks:read")
    names, now = sorted(pools), ports.now()
    signs = ports.roster.present(names) if ports.roster else []
    workers = [judged(sign, now, beat) for sign in signs]
    counted = Counter((sign.pool, sign.state) for sign in workers)
    counts = {pool: {state: counted[pool, state] for state in ALL} for pool in names}
    return Fleet(counts, workers if "operator" in principal.scopes else None)


def attending(ports: Ports, lane: str, beat: int) -> int | None:
    """How many workers of the lane's pool were heard of lately, whatever they do; None: unknown."""
    if ports.roster is None:
        return None
    try:
        signs, now = ports.roster.present([pool_of(lane)]), ports.now()
    except Unavailable as error:
        swallowed("roster_unread", error)
        return None
    return sum(judged(sign, now, beat).state is not WorkerState.LOST for sign in signs)


def pool_of(lane: str) -> str:
    """Lanes are named by their pool and a priority."""
    return lane.rpartition("-")[0]


def judged(sign: Sign, now: int, beat: int) -> Sign:
    """The sign, or `lost` when its worker has missed several since."""
    silent = now - sign.beat_at > BEATS_A_SIGN * SIGNS_MISSED * beat * 1000
    return replace(sign, state=WorkerState.LOST) if silent else sign
