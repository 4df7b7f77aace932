"""What happened, as named events: one JSON line each, with stable fields.

Nothing that a user wrote and no secret is ever a field. A swallowed error is an event too.
"""

from __future__ import annotations

import json
import logging
from typing import Final

from taskgate.lifecycle.change import Change
from taskgate.task import Task

LOG: Final = logging.getLogger("taskgate")


def event(name: str, level: int = logging.INFO, **fields: str | float | None) -> None:
    """Log one event. `fields` must be ids, numbers or words of ours."""
    LOG.log(level, "%s", json.dumps({"event": name, **fields}, default=str))


def transition(change: Change, before: Task | None, after: Task) -> None:
    """One line for each change of state: what the liveness metrics and audits read."""
    if change.verb is None:
        return
    event(
        "transition",
        task=after.id,
        type=after.type,
        verb=change.verb,
        origin=before.state if before else None,
        state=after.state,
        attempt=after.attempt,
        actor=change.stamp.actor,
        error=after.error.code if after.error else None,
    )


def swallowed(name: str, error: BaseException, **fields: str | float | None) -> None:
    """An error that was caught on purpose, since something else makes it good."""
    event(name, logging.WARNING, error=type(error).__name__, detail=str(error)[:200], **fields)
