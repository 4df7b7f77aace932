"""The bodies that the routes take, as strict models: no unknown field, no guessing of types."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Final, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator

from taskgate.errors import FieldProblem, InvalidRequest
from taskgate.task import CancelMode

MAX_METADATA_BYTES: Final = 1024
Label = Annotated[str, Field(min_length=1, max_length=64)]
LabelText = Annotated[str, Field(max_length=256)]


class Body(BaseModel):
    """Base of every body."""

    model_config = ConfigDict(strict=True, extra="forbid", frozen=True)

    @classmethod
    def of(cls, body: Mapping[str, Any]) -> Self:
        """The body as this model, or `InvalidRequest` naming each field that is wrong."""
        try:
            return cls.model_validate(body)
        except ValidationError as error:
            raise InvalidRequest(fields=_fields(error)) from None


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
            max_length=16,
            description="Your own labels, at most 1024 bytes in all; kept, never looked at.",
        ),
    ] = {}
    expected_seconds: Annotated[
        int | None,
        Field(ge=1, le=39_600, description="How long the run should take; it may take 3 × that."),
    ] = None

    @field_validator("metadata")
    @classmethod
    def _small(cls, labels: dict[str, str]) -> dict[str, str]:
        if sum(len((k + v).encode()) for k, v in labels.items()) > MAX_METADATA_BYTES:
            raise ValueError(f"at most {MAX_METADATA_BYTES} bytes of UTF-8 in all")
        return labels


class CancelBody(Body):
    """What `POST /v1/tasks/{task_id}/cancel` takes; an empty body stands for the defaults."""

    model_config = ConfigDict(
        json_schema_extra={"examples": [{"mode": "hard", "reason": "wrong prompt"}]}
    )

    mode: Annotated[
        Literal["soft", "hard"],
        Field(description="`soft` lets the run go on and drops its result; `hard` stops it."),
    ] = "soft"
    reason: Annotated[str, Field(description="Why, at most 200 bytes; kept in the history.")] = ""

    @field_validator("reason")
    @classmethod
    def _short(cls, reason: str) -> str:
        if len(reason.encode()) > 200:
            raise ValueError("at most 200 bytes of UTF-8")
        return reason

    @property
    def cancel_mode(self) -> CancelMode:
        return CancelMode(self.mode)


def _fields(error: ValidationError) -> list[FieldProblem]:
    found = error.errors(include_url=False, include_context=False, include_input=False)
    return [FieldProblem(".".join(map(str, e["loc"])), e["msg"]) for e in found]
