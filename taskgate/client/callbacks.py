"""What is told after the end, and what follows: from a caller's Python, and back."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
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
    callback_events: str | Sequence[str] | None = None
    then: Then = ()


Then = FollowUp | Mapping[str, Any] | Sequence[FollowUp | Mapping[str, Any]]
"""What follows: several tasks, or one."""


def follow_ups(then: Then) -> list[dict[str, Any]]:
    """The follow-ups as the gateway takes them; a mapping is taken as it is."""
    steps = [then] if isinstance(then, FollowUp | Mapping) else then
    return [_body(step) if isinstance(step, FollowUp) else dict(step) for step in steps]


def events_of(events: str | Iterable[str] | None) -> list[str] | None:
    """What to tell of: several events, or one."""
    return [events] if isinstance(events, str) else None if events is None else list(events)


def _body(step: FollowUp) -> dict[str, Any]:
    fields = {
        "type": step.type,
        "input": dict(step.input),
        "priority": step.priority,
        "callback_url": step.callback_url,
        "callback_events": events_of(step.callback_events),
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
