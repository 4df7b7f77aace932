"""Every transition as an event for other systems: what EventBridge rules can match on. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from taskgate.gateway.announcing import rfc3339
from taskgate.task import Task

SOURCE: Final = "taskgate"


@dataclass(frozen=True, slots=True)
class TaskEvent:
    """One transition: `kind` is like ``Task Succeeded``; `detail` holds ids and words of ours."""

    kind: str
    at: int
    """Epoch ms."""
    detail: Mapping[str, Any]


def transition_of(old: Task | None, new: Task) -> TaskEvent | None:
    """The event of a change of the record; None when only its clock or its debts moved."""
    known = len(old.history) if old else 0
    folded = old is not None and old.history[-1:] != new.history[-1:]
    if not new.history or (len(new.history) == known and not folded):
        return None
    entry = new.history[-1]
    if entry.to is not new.state:
        return None
    return TaskEvent(f"Task {_words(new.state)}", entry.at, _detail(old, new))


def _detail(old: Task | None, new: Task) -> dict[str, Any]:
    entry = new.history[-1]
    return {
        "id": new.id,
        "tenant": new.owner.tenant,
        "user": new.owner.user,
        "type": new.type,
        "lane": new.lane,
        "verb": entry.verb.value,
        "from": old.state.value if old else None,
        "state": new.state.value,
        "attempt": new.attempt,
        "generation": new.generation,
        "version": new.version,
        "actor": entry.actor,
        "reason": entry.reason,
        "error": new.error.code.value if new.error else None,
        "at": rfc3339(entry.at),
    }


def _words(state: str) -> str:
    return " ".join(part.capitalize() for part in state.split("_"))
