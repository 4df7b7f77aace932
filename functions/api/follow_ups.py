"""What a submit says of the time after the end: whom to tell, and which tasks follow."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, Final, Literal, Protocol

from pydantic import AfterValidator, Field

from functions.http.body import Body
from taskgate.errors import FieldProblem, InvalidRequest
from taskgate.gateway.door.chains import MAX_STEPS, Step
from taskgate.outgoing.guard import MOST_CHARACTERS, well_formed
from taskgate.outgoing.unsafe import UnsafeUrl
from taskgate.task import Callback

DEFAULT_EVENTS: Final = ("task.succeeded", "task.failed", "task.timed_out")


def _short(url: str) -> str:
    if len(url.encode()) > MOST_CHARACTERS:
        raise ValueError(f"at most {MOST_CHARACTERS} bytes of UTF-8")
    return url


CallbackUrl = Annotated[
    str,
    AfterValidator(_short),
    Field(
        min_length=1,
        description="Where to post the end: https, on port 443 or 8443, on the public internet;"
        f" at most {MOST_CHARACTERS} bytes.",
    ),
]
CallbackEvents = Annotated[
    list[
        Literal[
            "task.succeeded",
            "task.failed",
            "task.timed_out",
            "task.canceled",
            "task.stalled",
            "task.progress",
        ]
    ],
    Field(
        min_length=1,
        max_length=6,
        description="What to tell of; the first three by default. An end is told until it is"
        " delivered; `task.stalled` and `task.progress` are sent once and never again.",
    ),
]


class FollowUp(Body):
    """A task that is created when the one before it has succeeded."""

    type: Annotated[str, Field(max_length=64, description="A name from `GET /v1/task-types`.")]
    input: Annotated[
        dict[str, Any],
        Field(
            description='By the schema of its type. `{"$result": "image.png"}` stands for a file of'
            ' the task before it, `{"$output": "pages"}` for a field of that task\'s output.'
        ),
    ]
    priority: Annotated[
        Literal["low", "normal", "high"], Field(description="Which lane the task waits in.")
    ] = "normal"
    callback_url: CallbackUrl | None = None
    callback_events: CallbackEvents | None = None
    then: Annotated[
        list[FollowUp],
        Field(max_length=MAX_STEPS, description="What follows this one, in the same form."),
    ] = []  # noqa: RUF012 - pydantic copies it


class Telling(Protocol):
    """A body that may name a callback."""

    @property
    def callback_url(self) -> str | None: ...

    @property
    def callback_events(self) -> Sequence[str] | None: ...


def callback_of(body: Telling, place: str, *, local: bool) -> Callback | None:
    """Whom to tell; `InvalidRequest` when nobody may be called there, and why."""
    if body.callback_url is None:
        if body.callback_events is None:
            return None
        problem = FieldProblem(f"{place}callback_events", "nobody to tell: give callback_url too")
        raise InvalidRequest(fields=[problem])
    try:
        well_formed(body.callback_url, allow_local=local)
    except UnsafeUrl as unsafe:
        problem = FieldProblem(f"{place}callback_url", unsafe.reason)
        raise InvalidRequest(fields=[problem]) from None
    events = dict.fromkeys(body.callback_events or DEFAULT_EVENTS)
    return Callback(body.callback_url, tuple(events))


def steps_of(bodies: Sequence[FollowUp], place: str, *, local: bool) -> tuple[Step, ...]:
    """The follow-ups as the gateway takes them."""
    return tuple(_step(body, f"{place}.{n}.", local=local) for n, body in enumerate(bodies))


def _step(body: FollowUp, place: str, *, local: bool) -> Step:
    return Step(
        type=body.type,
        input=body.input,
        priority=body.priority,
        callback=callback_of(body, place, local=local),
        then=steps_of(body.then, f"{place}then", local=local),
    )
