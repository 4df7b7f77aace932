"""Ended tasks in memory: they change no more, and are asked about again and again."""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import replace
from typing import Final

from taskgate.gateway.views.reading import View
from taskgate.lifecycle.states import State

MOST: Final = 2000
FINAL_SECONDS: Final = 300
_REOPENABLE: Final = frozenset({State.FAILED, State.TIMED_OUT})
"""A person may give these another life: whoever then waits must not be told of the old one."""


def keep_seconds(view: View) -> int:
    """How long a view of this task stays true; 0 while it may change."""
    state = view.task.state
    return FINAL_SECONDS if state.ended and state not in _REOPENABLE else 0


class EndedViews:
    """The latest views of ended tasks, by id, as far as a status tells of them.

    Whose they are is for the reader to check.
    """

    def __init__(self) -> None:
        self._views: OrderedDict[str, tuple[int, View]] = OrderedDict()

    def get(self, task_id: str, now: int) -> View | None:
        """The view, while it is known to be true. `now` is epoch ms."""
        until, view = self._views.get(task_id, (0, None))
        return view if now < until else None

    def put(self, view: View, now: int) -> None:
        """Keep the view if its task has ended; the oldest one makes room."""
        seconds = keep_seconds(view)
        if not seconds:
            return
        self._views[view.task.id] = (now + seconds * 1000, _light(view))
        self._views.move_to_end(view.task.id)
        if len(self._views) > MOST:
            self._views.popitem(last=False)


def _light(view: View) -> View:
    """Without what may be large and no status shows: so many of them must fit into the process."""
    task = replace(
        view.task, output=None, metadata=None, checkpoint=None, result=(), history=(), callback=None
    )
    return replace(view, task=task)
