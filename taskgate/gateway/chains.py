"""What may follow a task: the shape of a chain, checked at submit and kept beside the task."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from taskgate.catalog import Catalog
from taskgate.errors import FieldProblem, InvalidInput, InvalidRequest
from taskgate.gateway.inputs import checked_input
from taskgate.settings import PRIORITIES
from taskgate.task import Callback

MAX_STEPS: Final = 5
MAX_DEPTH: Final = 5
MAX_TASKS: Final = 50
"""Follow-ups of one submit in all: it is admitted as one task, and must not become a flood."""
MAX_BYTES: Final = 96 * 1024
"""Of all follow-ups of one task as JSON."""


@dataclass(frozen=True, slots=True)
class Step:
    """One follow-up: `input` may refer to the parent by `{"$result": name}`, `{"$output": field}`."""

    type: str
    input: Mapping[str, Any]
    priority: str = "normal"
    callback: Callback | None = None
    then: Sequence[Step] = field(default_factory=tuple)


def check_steps(
    steps: Sequence[Step], catalog: Catalog, place: str = "then", depth: int = 1
) -> None:
    """Refuse at submit what can be known to be wrong: types, numbers, inputs without references."""
    if depth == 1 and _count(steps) > MAX_TASKS:
        raise InvalidRequest(fields=[FieldProblem(place, f"at most {MAX_TASKS} follow-ups in all")])
    if len(steps) > MAX_STEPS:
        raise InvalidRequest(fields=[FieldProblem(place, f"at most {MAX_STEPS} follow-ups")])
    if depth > MAX_DEPTH and steps:
        raise InvalidRequest(fields=[FieldProblem(place, f"nested at most {MAX_DEPTH} deep")])
    for index, step in enumerate(steps):
        here = f"{place}.{index}"
        if catalog.find(step.type) is None:
            raise InvalidRequest(fields=[FieldProblem(f"{here}.type", "no such task type")])
        if step.priority not in PRIORITIES:
            raise InvalidRequest(fields=[FieldProblem(f"{here}.priority", "low, normal or high")])
        if not _refers(step.input):
            _plain_input(catalog, step, here)
        check_steps(step.then, catalog, f"{here}.then", depth + 1)


def write_steps(steps: Sequence[Step]) -> str:
    """The steps as the JSON text that is kept beside the task."""
    text = json.dumps([_as_json(step) for step in steps], ensure_ascii=False, allow_nan=False)
    if len(text.encode()) > MAX_BYTES:
        raise InvalidRequest(fields=[FieldProblem("then", f"at most {MAX_BYTES} bytes as JSON")])
    return text


def read_steps(text: str) -> tuple[Step, ...]:
    """The steps of a text that `write_steps` made."""
    return tuple(_step(part) for part in json.loads(text))


def _count(steps: Sequence[Step]) -> int:
    return sum(1 + _count(step.then) for step in steps)


def _refers(value: Any) -> bool:
    if isinstance(value, Mapping):
        return bool(set(value) & {"$result", "$output"}) or any(map(_refers, value.values()))
    return isinstance(value, list) and any(map(_refers, value))


def _plain_input(catalog: Catalog, step: Step, place: str) -> None:
    try:
        checked_input(catalog[step.type], step.input)
    except InvalidInput as error:
        fields = [FieldProblem(f"{place}.{f.field}", f.message) for f in error.fields]
        raise InvalidInput(fields=fields) from None


def _as_json(step: Step) -> dict[str, Any]:
    callback = step.callback and [step.callback.url, list(step.callback.events)]
    return {
        "type": step.type,
        "input": step.input,
        "priority": step.priority,
        "callback": callback,
        "then": [_as_json(inner) for inner in step.then],
    }


def _step(part: Mapping[str, Any]) -> Step:
    kept = part["callback"]
    return Step(
        type=part["type"],
        input=part["input"],
        priority=part["priority"],
        callback=Callback(kept[0], tuple(kept[1])) if kept else None,
        then=tuple(_step(inner) for inner in part["then"]),
    )
