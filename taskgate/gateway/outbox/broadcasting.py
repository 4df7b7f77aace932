"""Every transition as an event for other systems: what EventBridge rules can match on. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from taskgate.gateway.announcing import rfc3339
from taskgate.lifecycle.states import RULES, State
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
    """The event of a change of the record; None when it is no transition.

    That is so when only its clock or its debts moved, and when its history tells of what was refused
    or asked for anew: an end is told once.
    """
    known = len(old.history) if old else 0
    folded = old is not None and old.history[-1:] != new.history[-1:]
    if not new.history or (len(new.history) == known and not folded):
        return None
    entry = new.history[-1]
    if entry.to is not new.state or entry.to not in RULES[entry.verb].targets:
        return None
    if old is not None and old.state.ended and _leads_to(old, new.state):
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


def _leads_to(task: Task, state: State) -> bool:
    return bool(task.history) and task.history[-1].to is state


def _words(state: str) -> str:
    return " ".join(part.capitalize() for part in state.split("_"))
