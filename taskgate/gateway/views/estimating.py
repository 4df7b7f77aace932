"""How long a task that waits may still wait and run, from what others of its kind lately did."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from taskgate.errors import Unavailable
from taskgate.events import swallowed
from taskgate.gateway.views.explaining import IN_LANE, Explanation
from taskgate.gateway.views.stories import about
from taskgate.lifecycle.states import State
from taskgate.ports import Ports
from taskgate.spreads import Spans, Spread
from taskgate.task import Task

TOLD_IN: Final = IN_LANE | {State.PROCESSING, State.STALLED}


@dataclass(frozen=True, slots=True)
class Quantiles:
    """Half took no longer than `p50`, nine of ten no longer than `p90`; ms. Of so many samples."""

    p50: int
    p90: int
    samples: int


@dataclass(frozen=True, slots=True)
class Estimate:
    """Unknown is None, and never a number that nobody measured."""

    wait: Quantiles | None
    """From being queued to the first start, in this lane."""
    run: Quantiles | None
    """One run that ended well."""
    waited: int | None = None
    """How long it has waited so far; ms."""

    @property
    def sentence(self) -> str:
        """The same in words."""
        if self.wait is None and self.run is None:
            return "How long it will take is not known: too few of its type ran since yesterday."
        parts = [_said("waited", self.wait), _said("ran", self.run)]
        told = f"Since yesterday, of its type in its lane, {' and '.join(filter(None, parts))}."
        late = self.wait and self.waited is not None and self.waited > self.wait.p90
        return f"{told} It has waited longer than nine of ten did." if late else told


def estimate(ports: Ports, told: Explanation) -> Estimate | None:
    """The estimate for a task that waits or runs: 1 call; None for all others.

    Of the wait only while it waits for its turn: how long an operator's switch, the lack of a worker or
    the time of its next try holds it back, no other task's wait can tell.
    """
    task = told.task
    if task.state not in TOLD_IN:
        return None
    spans = _lately(ports, task)
    if not told.in_turn:
        return Estimate(None, quantiles(spans.runs))
    waited = ports.now() - (task.queued_at or task.since)
    return Estimate(quantiles(spans.waits), quantiles(spans.runs), waited)


def quantiles(spread: Spread) -> Quantiles | None:
    """Both, or None where there are too few samples."""
    p50, p90 = spread.quantile(0.5), spread.quantile(0.9)
    return None if p50 is None or p90 is None else Quantiles(p50, p90, spread.samples)


def _lately(ports: Ports, task: Task) -> Spans:
    if ports.spreads is None:
        return Spans()
    try:
        return ports.spreads.lately(task.type, task.lane)
    except Unavailable as error:
        swallowed("spreads_unread", error, task=task.id)
        return Spans()


def _said(did: str, found: Quantiles | None) -> str | None:
    if found is None:
        return None
    return f"half {did} {about(found.p50)} or less, nine of ten {about(found.p90)} or less"
