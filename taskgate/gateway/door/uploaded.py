"""What a submit refers to of uploads: looked at before it is accepted, and kept until it must end.

A follow-up is held to the same at the submit of its chain, since nobody would be there to tell later.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from pydantic import ValidationError

from taskgate.catalog import Catalog, TaskType
from taskgate.catalog.references import upload_kinds
from taskgate.errors import FieldProblem, InvalidInput, InvalidRequest
from taskgate.gateway.announcing import rfc3339
from taskgate.gateway.door.chains import Step
from taskgate.gateway.door.fetching import Files, gone
from taskgate.gateway.door.timeouts import limits_of
from taskgate.misfits import misfits
from taskgate.ports import Ports
from taskgate.results import Stored
from taskgate.settings import Environment
from taskgate.task import Owner, Task
from taskgate.uploads import MARGIN_MS, UPLOAD_ID, WHOLE, kept_until, key_of

MAX_UPLOADS: Final = 16
"""That one submit may refer to: each costs a call."""


@dataclass(frozen=True, slots=True)
class Use:
    """An upload that an input refers to, and what may stand there."""

    place: str
    upload_id: str
    content_types: tuple[str, ...]
    max_bytes: int

    def problem(self, found: Stored | None) -> str | None:
        """Why it cannot stand there, naming the bound."""
        if found is None:
            return str(gone(self.upload_id))
        if found.content_type not in self.content_types:
            return f"takes {', '.join(self.content_types)}, and the upload is {found.content_type}"
        if found.size > self.max_bytes:
            return f"takes at most {self.max_bytes} bytes, and the upload has {found.size}"
        return None


@dataclass(frozen=True, slots=True, kw_only=True)
class Uploaded:
    """The uploads of one submit. No call is made for an input that refers to none."""

    ports: Ports
    catalog: Catalog
    environment: Environment
    owner: Owner

    def bound(self, task: Task, given: Mapping[str, Any], then: Sequence[Step]) -> Task:
        """The task with the time by which it must have ended; 1 call for each upload.

        Raises `InvalidInput` for what is not there or does not fit, `InvalidRequest` for a task
        that may still wait when its upload is gone.
        """
        kind = self.catalog[task.type]
        uses = [*self._own(kind, given), *_of_steps(self.catalog, then, "then")]
        self._check(uses)
        until = earliest(
            self._kept(use.upload_id for use in uses if not use.place.startswith("then.")),
            before_steps(self.catalog, self.environment, then),
        )
        return replace(task, uploads_until=until) if until is not None else task

    def _own(self, kind: TaskType, given: Mapping[str, Any]) -> Iterator[Use]:
        if set(given) != {WHOLE}:
            yield from uses_of(kind, given, "input")
            return
        yield Use("input", given[WHOLE], (), 0)
        yield from uses_of(kind, self._whole(kind, given[WHOLE]), "input")

    def _whole(self, kind: TaskType, upload_id: str) -> Mapping[str, Any]:
        """The input that was uploaded, held to its type's schema as any other."""
        try:
            text = Files(self.ports, self.owner).whole(upload_id)
            values: Mapping[str, Any] = kind.input_model.model_validate_json(text).model_dump()
        except ValidationError as error:
            raise InvalidInput(fields=misfits(error, kind.input_model, ("input",))) from None
        except InvalidInput as error:
            raise InvalidInput(fields=[FieldProblem("input", str(error))]) from None
        return values

    def _check(self, uses: Sequence[Use]) -> None:
        # One that is the input itself has been read already.
        looked = dict.fromkeys(use.upload_id for use in uses if use.content_types)
        if len(looked) > MAX_UPLOADS:
            raise InvalidInput(fields=[FieldProblem("input", f"at most {MAX_UPLOADS} uploads")])
        found = {i: self.ports.results.look(key_of(self.owner, i)) for i in looked}
        told = [(use.place, use.problem(found[use.upload_id])) for use in uses if use.content_types]
        wrong = [FieldProblem(place, why) for place, why in told if why]
        if wrong:
            raise InvalidInput(fields=wrong)

    def _kept(self, upload_ids: Iterator[str]) -> int | None:
        return _kept(self.environment, upload_ids)


def require_kept(task: Task, deadline_at: int, field: str) -> None:
    """Raise `InvalidRequest` when the task could still live after its upload is gone."""
    if task.uploads_until is not None and deadline_at > task.uploads_until:
        raise InvalidRequest(
            fields=[
                FieldProblem(
                    field,
                    f"its upload is kept until {rfc3339(task.uploads_until)},"
                    f" and the task may live until {rfc3339(deadline_at)}",
                )
            ]
        )


def uses_of(kind: TaskType, given: Mapping[str, Any], place: str) -> Iterator[Use]:
    """What an input, of which all but its references is known to fit, refers to of uploads."""
    for name, value in given.items():
        field = kind.input_model.model_fields.get(name)
        kinds = list(upload_kinds(field.annotation)) if field else []
        if kinds:
            types = tuple(dict.fromkeys(t for k in kinds for t in k.content_types))
            most = max(k.max_bytes for k in kinds)
            for where, upload_id in _ids(value, f"{place}.{name}"):
                yield Use(where, upload_id, types, most)


def before_steps(catalog: Catalog, environment: Environment, steps: Sequence[Step]) -> int | None:
    """By when a task must have ended, so that what follows it ends before its uploads are gone."""
    return earliest(*(_before(catalog, environment, step) for step in steps))


def of_step(catalog: Catalog, environment: Environment, step: Step) -> int | None:
    """By when a follow-up must have ended for its own uploads and those of what follows it."""
    kind = catalog.find(step.type)
    own = uses_of(kind, step.input, "input") if kind else iter(())
    return earliest(
        _kept(environment, (use.upload_id for use in own)),
        before_steps(catalog, environment, step.then),
    )


def earliest(*times: int | None) -> int | None:
    """The first of those that are given."""
    return min((time for time in times if time is not None), default=None)


def _before(catalog: Catalog, environment: Environment, step: Step) -> int | None:
    until, kind = of_step(catalog, environment, step), catalog.find(step.type)
    if until is None or kind is None:
        return None
    return until - limits_of(kind, environment).deadline - MARGIN_MS


def _of_steps(catalog: Catalog, steps: Sequence[Step], place: str) -> Iterator[Use]:
    for n, step in enumerate(steps):
        yield from uses_of(catalog[step.type], step.input, f"{place}.{n}.input")
        yield from _of_steps(catalog, step.then, f"{place}.{n}.then")


def _kept(environment: Environment, upload_ids: Iterator[str]) -> int | None:
    days = environment.upload_days
    return earliest(*(kept_until(i, days) - MARGIN_MS for i in upload_ids))


def _ids(value: Any, place: str) -> Iterator[tuple[str, str]]:
    if isinstance(value, Mapping):
        found = value.get("upload") if set(value) == {"upload"} else None
        if isinstance(found, str) and UPLOAD_ID.fullmatch(found):
            yield place, found
            return
        for key, inner in value.items():
            yield from _ids(inner, f"{place}.{key}")
    elif isinstance(value, list | tuple):
        for n, inner in enumerate(value):
            yield from _ids(inner, f"{place}.{n}")
