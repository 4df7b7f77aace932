"""The bodies of bulk acts, as strict models."""

from __future__ import annotations

from collections.abc import Callable
from enum import StrEnum
from typing import Annotated, Any, Final, Literal

from pydantic import AfterValidator, ConfigDict, Field, JsonValue

from functions.admin.bodies import Instant, Name
from functions.admin.reasons import BulkReason
from functions.http.body import Body
from functions.http.times import moment
from taskgate.bulks import ACTS, BulkAct, Wanted
from taskgate.lifecycle.retry import ErrorCode
from taskgate.lifecycle.states import State
from taskgate.nearest import must_be_one_of
from taskgate.task import CallbackState

EXAMPLE: Final[dict[str, JsonValue]] = {
    "act": "cancel",
    "tenant": "acme",
    "type": "text_to_image",
    "reason": "a runaway script",
}


def _word_of(kind: type[StrEnum]) -> Callable[[str], str]:
    def check(word: str) -> str:
        if word not in set(kind):
            raise ValueError(must_be_one_of(kind, word))
        return word

    return check


def _words(kind: type[StrEnum]) -> dict[str, Any]:
    return {"enum": [word.value for word in kind]}


StateName = Annotated[str, AfterValidator(_word_of(State)), Field(json_schema_extra=_words(State))]
CodeName = Annotated[
    str, AfterValidator(_word_of(ErrorCode)), Field(json_schema_extra=_words(ErrorCode))
]
Day = Annotated[str, Field(pattern="^[0-9]{4}-[0-9]{2}-[0-9]{2}$")]


class BulkBody(Body):
    """What `POST /v1/admin/bulk` takes: the act, the reason, and of which tasks."""

    model_config = ConfigDict(json_schema_extra={"examples": [EXAMPLE]})

    act: Annotated[
        Literal["cancel", "reopen", "redrive", "redeliver"],
        Field(description="`redrive` is another word for `reopen`."),
    ]
    reason: Annotated[BulkReason, Field(description="Each task's history keeps it.")]
    tenant: Annotated[
        Name | None, Field(description="Of this tenant; an administrator's own without it.")
    ] = None
    user: Annotated[Name | None, Field(description="Of this user of the tenant.")] = None
    type: Annotated[
        Annotated[str, Field(max_length=64)] | None, Field(description="Of this task type.")
    ] = None
    states: Annotated[
        list[StateName], Field(max_length=len(State), description="In one of these.")
    ] = []  # noqa: RUF012 - pydantic copies it
    since: Annotated[Instant | None, Field(description="Created at or after this.")] = None
    until: Annotated[Instant | None, Field(description="Created before this.")] = None
    code: Annotated[CodeName | None, Field(description="Ended with this error code.")] = None
    day: Annotated[Day | None, Field(description="Ended badly on this UTC day, `YYYY-MM-DD`.")] = (
        None
    )
    callback: Annotated[
        Literal["pending", "delivered", "given_up"] | None,
        Field(description="With a callback that stands so."),
    ] = None

    @property
    def wished(self) -> BulkAct:
        return ACTS[self.act]

    @property
    def wanted(self) -> Wanted:
        """The filter."""
        return Wanted(
            tenant=self.tenant,
            user=self.user,
            type=self.type,
            states=frozenset(map(State, self.states)),
            since=None if self.since is None else moment(self.since),
            until=None if self.until is None else moment(self.until),
            code=None if self.code is None else ErrorCode(self.code),
            day=self.day,
            callback=None if self.callback is None else CallbackState(self.callback),
        )


class ConfirmBody(Body):
    """What `POST /v1/admin/bulk/{bulk_id}/confirm` takes."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"token": "0a1b2c…"}]})

    token: Annotated[str, Field(max_length=100, description="As the dry run gave it.")]


class StopBody(Body):
    """What `POST /v1/admin/bulk/{bulk_id}/stop` takes: nothing yet, so that nothing is ignored."""
