"""The bodies that the routes take, as strict models: no unknown field, no guessing of types."""

from __future__ import annotations

from typing import Annotated, Any, Final, Literal

from pydantic import (
    AfterValidator,
    ConfigDict,
    Field,
    ValidationInfo,
    field_validator,
)

from functions.api.follow_ups import CallbackEvents, CallbackUrl, FollowUp, callback_of, steps_of
from functions.http.body import Body
from functions.http.times import moment
from taskgate.errors import FieldProblem, InvalidRequest
from taskgate.gateway.door.chains import MAX_DEPTH, MAX_STEPS, MAX_TASKS
from taskgate.gateway.door.scheduling import MAX_AHEAD_SECONDS, Start
from taskgate.gateway.door.submitting import SubmitRequest
from taskgate.task import CancelMode

MAX_LABELS: Final = 16
MAX_METADATA_BYTES: Final = 1024
MAX_SECONDS: Final = 39_600
"""No run may be longer: SQS hides a message for at most 12 hours."""


def _short(reason: str) -> str:
    if len(reason.encode()) > 200:
        raise ValueError("at most 200 bytes of UTF-8")
    return reason


def _instant(text: str) -> str:
    moment(text)
    return text


def _alone(delay: int, info: ValidationInfo) -> int:
    if info.data.get("run_at") is not None:
        raise ValueError("not together with run_at")
    return delay


Label = Annotated[str, Field(min_length=1, max_length=64)]
LabelText = Annotated[str, Field(max_length=256)]
Reason = Annotated[
    str,
    AfterValidator(_short),
    Field(description="Why, at most 200 bytes; kept in the history."),
]
RunAt = Annotated[
    str,
    AfterValidator(_instant),
    Field(
        max_length=40,
        json_schema_extra={"format": "date-time"},
        description="When to start: RFC 3339 with an offset or Z, at most 90 days ahead."
        " In the past means now.",
    ),
]
Delay = Annotated[
    int,
    Field(
        ge=0,
        le=MAX_AHEAD_SECONDS,
        description="Seconds from now until the start, instead of `run_at`.",
    ),
    AfterValidator(_alone),
]


class Timeouts(Body):
    """The caller's own limits, within those of the task type."""

    queue_seconds: Annotated[
        int | None, Field(ge=1, description="Waiting for a worker; at most the type's deadline.")
    ] = None
    run_seconds: Annotated[
        int | None, Field(ge=1, description="One run; at most the type's `max_run`.")
    ] = None
    deadline_seconds: Annotated[
        int | None, Field(ge=1, description="The whole life, from the start; at most the type's.")
    ] = None


class SubmitBody(Body):
    """What `POST /v1/tasks` takes. The input itself is held to its task type's schema."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {"type": "text_to_image", "input": {"prompt": "a lighthouse at dusk", "seed": 7}}
            ]
        }
    )

    type: Annotated[str, Field(max_length=64, description="A name from `GET /v1/task-types`.")]
    input: Annotated[
        dict[str, Any], Field(description="The task's input, by the schema of its type.")
    ]
    priority: Annotated[
        Literal["low", "normal", "high"], Field(description="Which lane the task waits in.")
    ] = "normal"
    metadata: Annotated[
        dict[Label, LabelText],
        Field(
            max_length=MAX_LABELS,
            description="Your own labels, at most 1024 bytes in all; kept, and good for filters.",
        ),
    ] = {}  # noqa: RUF012 - pydantic copies it
    run_at: RunAt | None = None
    delay: Delay | None = None
    expected_seconds: Annotated[
        int | None,
        Field(
            ge=1,
            le=MAX_SECONDS,
            description="How long the run should take; it may take 3 × that.",
        ),
    ] = None
    timeouts: Annotated[
        Timeouts, Field(description="Your own limits, in seconds, within those of the type.")
    ] = Timeouts()
    reuse: Annotated[
        bool,
        Field(
            description="A result that is kept of an identical submit of yours (same type, same"
            " input) is given at once, instead of a run. `false` computes it anew."
        ),
    ] = True
    callback_url: CallbackUrl | None = None
    callback_events: CallbackEvents | None = None
    then: Annotated[
        list[FollowUp],
        Field(
            max_length=MAX_STEPS,
            description="What follows when it has succeeded, at most 5 tasks, each with its own"
            f" `then`: {MAX_DEPTH} levels and {MAX_TASKS} tasks in all. When it ends in another"
            " way, all of them are canceled.",
        ),
    ] = []  # noqa: RUF012 - pydantic copies it

    @field_validator("metadata")
    @classmethod
    def _small(cls, labels: dict[str, str]) -> dict[str, str]:
        if sum(len((k + v).encode()) for k, v in labels.items()) > MAX_METADATA_BYTES:
            raise ValueError(f"at most {MAX_METADATA_BYTES} bytes of UTF-8 in all")
        return labels

    def request(self, idempotency_key: str | None, *, local: bool) -> SubmitRequest:
        """What the gateway takes. On a `local` stage callbacks may go to this machine."""
        return SubmitRequest(
            type=self.type,
            input=self.input,
            priority=self.priority,
            metadata=self.metadata,
            expected_seconds=self.expected_seconds,
            start=_start(self.run_at, self.delay),
            timeouts=self.timeouts.model_dump(exclude_none=True),
            callback=callback_of(self, "", local=local),
            then=steps_of(self.then, "then", local=local),
            idempotency_key=idempotency_key,
            reuse=self.reuse,
        )


class CancelBody(Body):
    """What `POST /v1/tasks/{task_id}/cancel` takes; an empty body stands for the defaults."""

    model_config = ConfigDict(
        json_schema_extra={"examples": [{"mode": "hard", "reason": "wrong prompt"}]}
    )

    mode: Annotated[
        Literal["soft", "hard"],
        Field(
            description="`soft` lets a run go on: its result is kept from you now, and given at once"
            " to your next identical submit. `hard` stops it and removes what it had made."
        ),
    ] = "soft"
    reason: Reason = ""

    @property
    def cancel_mode(self) -> CancelMode:
        return CancelMode(self.mode)


class ReasonBody(Body):
    """What the verbs take that need no more than a reason; an empty body gives none."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"reason": "the GPU is gone"}]})

    reason: Reason = ""


class ExtendBody(Body):
    """What `POST /v1/tasks/{task_id}/extend` takes."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"seconds": 600}]})

    seconds: Annotated[
        int,
        Field(ge=1, le=21_600, description="More time for the run; never beyond its `max_run`."),
    ]
    reason: Reason = ""


class PriorityBody(Body):
    """What `POST /v1/tasks/{task_id}/priority` takes."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"priority": "high"}]})

    priority: Annotated[
        Literal["low", "normal", "high"], Field(description="Which lane the task waits in now.")
    ]
    reason: Reason = ""


class RescheduleBody(Body):
    """What `POST /v1/tasks/{task_id}/reschedule` takes: `run_at` or `delay`."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [{"delay": 3600}],
            "anyOf": [
                {"required": ["run_at"], "properties": {"run_at": {"type": "string"}}},
                {"required": ["delay"], "properties": {"delay": {"type": "integer"}}},
            ],
        }
    )

    run_at: RunAt | None = None
    delay: Delay | None = None
    reason: Reason = ""

    @property
    def start(self) -> Start:
        """The new time; one of the two fields must be there."""
        if self.run_at is None and self.delay is None:
            raise InvalidRequest(fields=[FieldProblem("run_at", "give this or delay")])
        return _start(self.run_at, self.delay)


def _start(run_at: str | None, delay: int | None) -> Start:
    return Start(None if run_at is None else moment(run_at), delay)
