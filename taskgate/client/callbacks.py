"""What is told after the end, and what follows: from a caller's Python, and back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from taskgate.client.answers import callback_of, secrets_of
from taskgate.client.models import Callback
from taskgate.client.transport import Transport, task_path


@dataclass(frozen=True, slots=True, kw_only=True)
class FollowUp:
    """A task that is created when the one before it has succeeded.

    In `input`, `{"$result": "image.png"}` stands for a file of the task before it, and
    `{"$output": "pages"}` for a field of its output.
    """

    type: str
    input: Mapping[str, Any]
    priority: str = "normal"
    callback_url: str | None = None
    callback_events: Sequence[str] | None = None
    then: Sequence[FollowUp | Mapping[str, Any]] = ()


def follow_ups(then: Sequence[FollowUp | Mapping[str, Any]]) -> list[dict[str, Any]]:
    """The follow-ups as the gateway takes them; a mapping is taken as it is."""
    return [_body(step) if isinstance(step, FollowUp) else dict(step) for step in then]


def _body(step: FollowUp) -> dict[str, Any]:
    fields = {
        "type": step.type,
        "input": dict(step.input),
        "priority": step.priority,
        "callback_url": step.callback_url,
        "callback_events": list(step.callback_events) if step.callback_events else None,
        "then": follow_ups(step.then) or None,
    }
    return {name: value for name, value in fields.items() if value is not None}


class Callbacks:
    """How callbacks went, once more, and the secrets that sign them."""

    _transport: Transport

    def callback(self, task_id: str) -> Callback:
        """How the task's callback stands, with its latest attempts; `Refused` when there is none."""
        return self._transport.ask(callback_of, "GET", task_path(task_id, "/callback"))

    def redeliver(self, task_id: str) -> Callback:
        """Have the callback of an ended task sent once more: the same event, by the same id."""
        path = task_path(task_id, "/callback/redeliver")
        return self._transport.ask(callback_of, "POST", path)

    def webhook_secrets(self) -> tuple[str, ...]:
        """The `whsec_` secrets that sign your tenant's callbacks, the newest first."""
        return self._transport.ask(secrets_of, "GET", "/v1/webhook-secrets")
