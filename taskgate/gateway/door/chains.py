"""What may follow a task: the shape of a chain, checked at submit and kept beside the task."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from taskgate.catalog import Catalog
from taskgate.errors import FieldProblem, InvalidInput, InvalidRequest
from taskgate.gateway.door.inputs import checked_input
from taskgate.nearest import did_you_mean
from taskgate.settings import PRIORITIES
from taskgate.task import Callback

RESULT: Final = "$result"
OUTPUT: Final = "$output"
MAX_STEPS: Final = 5
MAX_DEPTH: Final = 5
MAX_TASKS: Final = 50
"""Follow-ups of one submit in all: it is admitted as one task, and must not become a flood."""
MAX_BYTES: Final = 96 * 1024
"""Of all follow-ups of one task as JSON."""
_SOME_TASK: Final = "task_" + "0" * 26


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
    """Refuse at submit what can be known to be wrong: types, numbers, all of an input but its references."""
    if depth == 1 and _count(steps) > MAX_TASKS:
        raise InvalidRequest(fields=[FieldProblem(place, f"at most {MAX_TASKS} follow-ups in all")])
    if len(steps) > MAX_STEPS:
        raise InvalidRequest(fields=[FieldProblem(place, f"at most {MAX_STEPS} follow-ups")])
    if depth > MAX_DEPTH and steps:
        raise InvalidRequest(fields=[FieldProblem(place, f"nested at most {MAX_DEPTH} deep")])
    for index, step in enumerate(steps):
        here = f"{place}.{index}"
        if catalog.find(step.type) is None:
            raise InvalidRequest(fields=[FieldProblem(f"{here}.type", catalog.unknown(step.type))])
        if step.priority not in PRIORITIES:
            raise InvalidRequest(fields=[FieldProblem(f"{here}.priority", "low, normal or high")])
        _check_input(catalog, step, here)
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


def _check_input(catalog: Catalog, step: Step, place: str) -> None:
    """All of the input that is known by now: a file stands in for a file, an output for anything."""
    unknown = [path for path, name in _references(step.input, "input", place) if name == OUTPUT]
    try:
        checked_input(catalog[step.type], _with_stand_ins(step.input))
    except InvalidInput as error:
        fields = [
            FieldProblem(f"{place}.{f.field}", f.message + _meant(f.field))
            for f in error.fields
            if not any(_overlap(f.field, path) for path in unknown)
        ]
        if fields:
            raise InvalidInput(fields=fields) from None


def _meant(path: str) -> str:
    """The reference that somebody had in mind who wrote a key like one."""
    key = path.rpartition(".")[2]
    return did_you_mean(key, (RESULT, OUTPUT)) if key.startswith("$") else ""


def _references(value: Any, path: str, place: str) -> Iterator[tuple[str, str]]:
    """Each reference as (path, its key); one that cannot be meant is refused."""
    if isinstance(value, list):
        for n, inner in enumerate(value):
            yield from _references(inner, f"{path}.{n}", place)
    if not isinstance(value, Mapping):
        return
    found = set(value) & {RESULT, OUTPUT}
    for key, inner in value.items() if not found else ():
        yield from _references(inner, f"{path}.{key}", place)
    for key in found:
        if len(value) > 1 or not (isinstance(value[key], str) and value[key]):
            message = f'a reference is {{"{key}": "name"}} and nothing beside it'
            raise InvalidRequest(fields=[FieldProblem(f"{place}.{path}", message)])
        yield path, key


def _with_stand_ins(value: Any) -> Any:
    if isinstance(value, Mapping):
        if RESULT in value:
            return {"task": _SOME_TASK, "file": value[RESULT]}
        return {key: _with_stand_ins(inner) for key, inner in value.items()}
    return [_with_stand_ins(inner) for inner in value] if isinstance(value, list) else value


def _overlap(one: str, other: str) -> bool:
    """Whether one path is the other, or lies within it."""
    return f"{one}.".startswith(f"{other}.") or f"{other}.".startswith(f"{one}.")


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
