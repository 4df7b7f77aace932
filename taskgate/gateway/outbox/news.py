"""What a caller may hear of a task that still runs: that it stalled, and how far it is.

News is a courtesy: sent once, never kept, never at the cost of the callback that tells of the end.
Workers and the sweep only leave an errand; the outbox alone speaks to receivers.
"""

from __future__ import annotations

import json
from typing import Any, Final

from taskgate.errors import Unavailable
from taskgate.events import swallowed
from taskgate.gateway.announcing import rfc3339
from taskgate.lifecycle.states import State
from taskgate.ports import Ports, Pulse
from taskgate.task import Task

STALLED: Final = "task.stalled"
PROGRESS: Final = "task.progress"
NEWS: Final = frozenset({STALLED, PROGRESS})
"""Events that are sent once, on request."""


def leave(ports: Ports, task: Task, news: str) -> None:
    """Leave an errand to tell of it, if the task's caller asked for this event."""
    if task.callback is None or news not in task.callback.events:
        return
    try:
        ports.errands.send(task.id, 0, news)
    except Unavailable as error:
        swallowed("news_unsent", error, task=task.id, news=news)


def current(task: Task, news: str) -> bool:
    """Whether the news is still true: nobody is told of progress after the end."""
    wanted = State.STALLED if news == STALLED else State.PROCESSING
    asked = task.callback is not None and news in task.callback.events
    return asked and task.state is wanted


def body(task: Task, pulse: Pulse | None, news: str, now: int) -> str:
    """The event as a JSON text; `generation` and `timestamp` order what comes out of order."""
    event: dict[str, Any] = {
        "type": news,
        "timestamp": rfc3339(now),
        "data": {
            "id": task.id,
            "type": task.type,
            "state": task.state.value,
            "generation": task.generation,
            "attempt": task.attempt,
            "version": task.version,
            "progress": pulse.progress if pulse else 0.0,
            "stage": pulse.stage if pulse else "",
        },
    }
    return json.dumps(event, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
