"""The verbs by which people steer a task that is on record."""

from __future__ import annotations

from typing import Any

from taskgate.client.answers import task_of
from taskgate.client.models import Task
from taskgate.client.transport import Transport, task_path
from taskgate.client.writing import Moment, Span, moment_text, seconds_of


class Steering:
    """Each verb answers with the task as it then is; `Refused` when its state does not allow it.

    All but `extend` may be repeated: a lost answer is asked for again, and changes nothing more.
    """

    _transport: Transport

    def cancel(self, task_id: str, *, mode: str = "soft", reason: str = "") -> Task:
        """Ask a task to end. `soft` lets a run go on and keeps its result for your next identical
        submit, `hard` stops it; `outcome` of the answer says what came of it.
        """
        return self._steer(task_id, "cancel", mode=mode, reason=reason)

    def reschedule(
        self,
        task_id: str,
        *,
        run_at: Moment | None = None,
        delay: Span | None = None,
        reason: str = "",
    ) -> Task:
        """Move the start of a scheduled task: to a time, or to so long from now."""
        return self._steer(
            task_id,
            "reschedule",
            run_at=None if run_at is None else moment_text(run_at),
            delay=None if delay is None else seconds_of(delay),
            reason=reason,
        )

    def prioritize(self, task_id: str, priority: str, *, reason: str = "") -> Task:
        """Give a waiting task another priority: `low`, `normal` or `high`, as your plan allows."""
        return self._steer(task_id, "priority", priority=priority, reason=reason)

    def extend(self, task_id: str, span: Span, *, reason: str = "") -> Task:
        """Give a run more time. It is sent once only, since each call adds its seconds."""
        seconds = seconds_of(span)
        return self._steer(task_id, "extend", once=True, seconds=seconds, reason=reason)

    def recover(self, task_id: str, *, reason: str = "") -> Task:
        """Run a stalled task again now, without waiting for its grace."""
        return self._steer(task_id, "recover", reason=reason)

    def fail(self, task_id: str, *, reason: str = "") -> Task:
        """End a stalled task as failed, without another try."""
        return self._steer(task_id, "fail", reason=reason)

    def pause(self, task_id: str, *, reason: str = "") -> Task:
        """Hold a waiting task back. Operators only."""
        return self._steer(task_id, "pause", reason=reason)

    def resume(self, task_id: str, *, reason: str = "") -> Task:
        """Let a paused task go on. Operators only."""
        return self._steer(task_id, "resume", reason=reason)

    def retry(self, task_id: str, *, reason: str = "") -> Task:
        """Give a failed or timed-out task another life, under the same id."""
        return self._steer(task_id, "retry", reason=reason)

    def _steer(self, task_id: str, verb: str, *, once: bool = False, **fields: Any) -> Task:
        body = {name: value for name, value in fields.items() if value is not None}
        path = task_path(task_id, f"/{verb}")
        return self._transport.ask(task_of, "POST", path, body=body, once=once)
