"""How much there is to do in each pool: what its workers are scaled by, and what is nobody's work.

Counted in the lanes, so it is there when no worker is; and counted each minute, 0 too, which also keeps
the queues' own metrics awake: SQS lets those of an unused queue sleep, for up to a quarter of an hour
after its first message.
"""

from __future__ import annotations

from collections.abc import Iterable

from taskgate.errors import Unavailable
from taskgate.events import event, swallowed
from taskgate.ports import Depth, Ports
from taskgate.settings import PRIORITIES


def pools(lanes: Iterable[str]) -> list[str]:
    """The pools that these lanes are of."""
    return sorted({lane.rpartition("-")[0] for lane in lanes})


def tell_backlog(ports: Ports, pools: Iterable[str]) -> None:
    """One event a pool. A queue service that is away is told of: no number is better than half."""
    for pool in pools:
        try:
            depths = [ports.lanes.depth(f"{pool}-{priority}") for priority in PRIORITIES]
        except Unavailable as error:
            swallowed("backlog_unknown", error, pool=pool)
        else:
            _tell(pool, depths)


def _tell(pool: str, depths: Iterable[Depth]) -> None:
    waiting, taken = (
        sum(part) for part in zip(*((d.waiting, d.taken) for d in depths), strict=True)
    )
    event(
        "backlog",
        pool=pool,
        backlog=waiting + taken,
        waiting=waiting,
        # Waiting, and no worker holds anything: a number only while nobody works.
        unattended=0 if taken else waiting,
    )
