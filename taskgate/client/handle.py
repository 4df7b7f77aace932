"""A task that you submitted or looked up: its id, and what you can do with it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from taskgate.client.models import Callback, Explanation, Result, Task
from taskgate.client.writing import Moment, Span

if TYPE_CHECKING:
    from taskgate.client.taskgate import Taskgate

OnUpdate = Callable[[Task], object]
OnSubmit = Callable[["TaskHandle"], object]


class TaskHandle:
    """Holds an id and how it was got; each call asks the gateway."""

    def __init__(
        self,
        client: Taskgate,
        task_id: str,
        *,
        idempotency_key: str = "",
        submitted: Task | None = None,
        replayed: bool = False,
    ) -> None:
        self._client = client
        self.id = task_id
        self.submitted = submitted or Task(id=task_id)
        """The task as it was when it was accepted."""
        self.idempotency_key = idempotency_key
        """What a repeated submit must carry to get this task again."""
        self.replayed = replayed
        """The key had been used before, and this is the task of then."""

    def __repr__(self) -> str:
        return f"TaskHandle({self.id!r})"

    def status(self) -> Task:
        """The task now, light: state, attempt, progress and stage."""
        return self._client.status(self.id)

    def get(self) -> Task:
        """The whole task, with its history."""
        return self._client.get(self.id)

    def updates(self, timeout: float | None = None) -> Iterator[Task]:
        """The task at each look until it has ended; see `wait` for the timeout."""
        return self._client.updates(self.id, timeout)

    def wait(self, timeout: float | None = None, on_update: OnUpdate | None = None) -> Task:
        """The task once it has ended, well or badly; as light as `status`, `get` tells the rest.

        Raises `WaitTimeout`, which carries the id, as soon as no further look fits into `timeout`
        seconds. The task goes on.
        """
        task = None
        for task in self._client.updates(self.id, timeout, until_ended=on_update is None):
            if on_update:
                on_update(task)
        assert task is not None, "a wait ends only with a task that has ended"  # noqa: S101
        return task

    def result(self) -> Result:
        """The manifest of the result with fresh URLs; `TaskEnded` when it ended without one."""
        return self._client.result(self.id)

    def download(self, folder: str | Path = ".") -> list[Path]:
        """The result's files in the folder, each checked against its sha256."""
        return self._client.download(self.id, folder)

    def cancel(self, mode: str = "soft", reason: str = "") -> Task:
        """Ask the task to end. Too late is no error: `outcome` of the answer says so."""
        return self._client.cancel(self.id, mode=mode, reason=reason)

    def explain(self) -> Explanation:
        """Why the task is where it is, what it waits for, and when the gateway looks next."""
        return self._client.explain(self.id)

    def callback(self) -> Callback:
        """How the callback stands, with its latest attempts."""
        return self._client.callback(self.id)

    def redeliver(self) -> Callback:
        """Have the callback sent once more, after the end."""
        return self._client.redeliver(self.id)

    @property
    def children(self) -> tuple[TaskHandle, ...]:
        """Handles on what follows; a task that is not yet on record answers `NotFound`."""
        return tuple(TaskHandle(self._client, child.id) for child in self.get().children)

    def reschedule(
        self, *, run_at: Moment | None = None, delay: Span | None = None, reason: str = ""
    ) -> Task:
        """Move the start, while the task is scheduled."""
        return self._client.reschedule(self.id, run_at=run_at, delay=delay, reason=reason)

    def prioritize(self, priority: str, reason: str = "") -> Task:
        """Give the task another priority while it waits: `low`, `normal` or `high`."""
        return self._client.prioritize(self.id, priority, reason=reason)

    def extend(self, span: Span, reason: str = "") -> Task:
        """Give the run more time: seconds or a timedelta on top of what it has."""
        return self._client.extend(self.id, span, reason=reason)

    def recover(self, reason: str = "") -> Task:
        """Run the task again now, while it is stalled."""
        return self._client.recover(self.id, reason=reason)

    def fail(self, reason: str = "") -> Task:
        """End the task as failed, while it is stalled."""
        return self._client.fail(self.id, reason=reason)

    def pause(self, reason: str = "") -> Task:
        """Hold the task back while it waits. Operators only."""
        return self._client.pause(self.id, reason=reason)

    def resume(self, reason: str = "") -> Task:
        """Let the paused task go on. Operators only."""
        return self._client.resume(self.id, reason=reason)

    def retry(self, reason: str = "") -> Task:
        """Give the task another life after it failed or timed out."""
        return self._client.retry(self.id, reason=reason)
