"""The context that a runner gets with each task."""

from __future__ import annotations

import math
import threading
import time
from pathlib import Path
from typing import Final

from gpu_worker.channel import Channel
from gpu_worker.given_files import PATH
from gpu_worker.output import BadOutput, storable
from gpu_worker.produced import FILE_NAME, MAX_FILES
from gpu_worker.protocol import Extend, Progressed, Run, Saved, TimeLeft
from taskgate.lifecycle.transitions import MAX_CHECKPOINT

PROGRESS_EVERY: Final = 0.1
"""Seconds. A loop that reports each of a million steps must not fill the line."""
MAX_STAGE: Final = 64


class TaskCanceled(BaseException):
    """The task was canceled; stop now. Raised by the context, never to be swallowed."""


class Context:
    """What a run may know, say and leave behind. Every call may raise `TaskCanceled`."""

    def __init__(self, order: Run, channel: Channel, draining: threading.Event) -> None:
        self.task_id, self.attempt, self.checkpoint = order.task_id, order.attempt, order.checkpoint
        self._trace = order.trace
        self.number, self._folder, self._channel = order.number, Path(order.folder), channel
        self._canceled, self._draining = threading.Event(), draining
        self._fraction, self._stage, self._said_at = 0.0, "", 0.0
        self._files: dict[str, tuple[Path, str]] = {}
        self._news, self._answers = threading.Condition(), 0
        self._ends_at = time.monotonic() + order.seconds_left

    @property
    def canceled(self) -> bool:
        """Whether the task was canceled, or taken away from this worker."""
        return self._canceled.is_set()

    @property
    def draining(self) -> bool:
        """Whether this worker leaves soon: a good moment for `save_checkpoint`."""
        return self._draining.is_set()

    @property
    def seconds_left(self) -> float:
        """How long the run may still take before it is stopped and times out."""
        return max(0.0, self._ends_at - time.monotonic())

    @property
    def traceparent(self) -> str:
        """W3C trace context of this run: hand it on to whatever the run calls."""
        return self._trace.get("traceparent", "")

    @property
    def tracestate(self) -> str:
        """What tracing vendors added to it; mostly empty."""
        return self._trace.get("tracestate", "")

    def given(self, reference: dict[str, str]) -> Path:
        """Where the file lies that a `FileRef` or an `UploadRef` of the input names."""
        return Path(reference[PATH])

    def extend(self, seconds: float) -> float:
        """Have at least `seconds` from now, as far as the type's `max_run` and the deadline allow.

        Returns the seconds that are left, be they more or fewer. While there are enough it costs
        nothing, so call it in each step of a loop. It never raises because a store is away.
        """
        self._raise_if_canceled()
        if not 0 < seconds < math.inf:
            raise ValueError(f"extend by {seconds!r}: it must be a number of seconds above 0")
        if self.seconds_left < seconds:
            self._ask_for_time(seconds)
        return self.seconds_left

    def progress(self, fraction: float, stage: str | None = None) -> None:
        """How far the run is, 0 to 1; other values are ignored. It never falls. Call it often."""
        self._raise_if_canceled()
        if 0.0 <= fraction <= 1.0:
            self._fraction = max(self._fraction, fraction)
        if stage is not None and (stage := storable(stage, MAX_STAGE)) != self._stage:
            self._stage, self._said_at = stage, 0.0
        self._say()

    def stage(self, name: str) -> None:
        """What the run is doing now, in a word or two."""
        self.progress(self._fraction, name)

    def wait(self, seconds: float) -> None:
        """Sleep, but wake at once when the task is canceled."""
        self._canceled.wait(seconds)
        self._raise_if_canceled()

    def file(self, name: str, content_type: str) -> Path:
        """Declare a result file and get the path to write it to."""
        self._raise_if_canceled()
        if not FILE_NAME.fullmatch(name):
            raise ValueError(f"{name!r} is not a plain file name of at most 100 characters")
        if len(self._files) >= MAX_FILES and name not in self._files:
            raise ValueError(f"a task has at most {MAX_FILES} result files")
        path = self._folder / name
        self._files[name] = (path, content_type)
        return path

    def save_checkpoint(self, text: str) -> None:
        """What the next attempt finds as `ctx.checkpoint`, should this one not end.

        At most 1 KB of UTF-8: a longer one raises `ValueError`, since half of it is worth nothing.
        """
        self._raise_if_canceled()
        if len(text.encode("utf-8", "replace")) > MAX_CHECKPOINT:
            raise ValueError(f"a checkpoint is at most {MAX_CHECKPOINT} bytes of UTF-8")
        self._channel.send(Saved(self.number, storable(text, MAX_CHECKPOINT)))

    def cancel(self) -> None:
        """Called by the child's ear when the supervisor asks."""
        self._canceled.set()
        with self._news:
            self._news.notify_all()

    def hear(self, news: TimeLeft) -> None:
        """Called by the child's ear when the run's time changed, or an `extend` is answered."""
        with self._news:
            self._ends_at = time.monotonic() + news.seconds
            self._answers += news.answers
            self._news.notify_all()

    def files(self) -> list[tuple[str, str, str]]:
        """The declared files; raises `BadOutput` when one was never written."""
        for path, _ in self._files.values():
            if not path.is_file():
                raise BadOutput(f"the run declared {path.name} but did not write it")
        return [(name, str(path), kind) for name, (path, kind) in self._files.items()]

    def _raise_if_canceled(self) -> None:
        if self.canceled:
            raise TaskCanceled

    def _ask_for_time(self, seconds: float) -> None:
        with self._news:
            answered = self._answers
            self._channel.send(Extend(self.number, seconds))
            self._news.wait_for(lambda: self._answers > answered or self.canceled)
        self._raise_if_canceled()

    def _say(self) -> None:
        now = time.monotonic()
        if now - self._said_at >= PROGRESS_EVERY:
            self._said_at = now
            self._channel.send(Progressed(self.number, self._fraction, self._stage))
