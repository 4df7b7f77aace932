"""The bodies that this room's routes take, as strict models."""

from __future__ import annotations

from typing import Annotated, Any, Final, Literal

from pydantic import AfterValidator, ConfigDict, Field

from functions.http.body import Body
from functions.http.times import moment
from taskgate.gateway.office.key_keeping import Wish
from taskgate.plans import MOST_PER_MINUTE
from taskgate.principal import NAME
from taskgate.settings import MOST_UPLOAD_BYTES
from taskgate.shards import MOST_LEDGER_SHARDS
from taskgate.slots import MOST_SLOTS
from taskgate.task import Owner

LONGEST_OVERLAP: Final = 90 * 86_400


def _instant(text: str) -> str:
    moment(text)
    return text


Name = Annotated[str, Field(pattern=f"^{NAME.pattern}$")]
Scope = Literal["tasks:read", "tasks:write", "delegate", "admin", "operator"]
Instant = Annotated[
    str,
    AfterValidator(_instant),
    Field(max_length=40, json_schema_extra={"format": "date-time"}),
]
ExpiresAt = Annotated[
    Instant,
    Field(description="When the key ends: RFC 3339 with an offset or Z. Without it: never."),
]


class IssueBody(Body):
    """What `POST /v1/admin/keys` takes."""

    model_config = ConfigDict(
        json_schema_extra={"examples": [{"user": "ada", "scopes": ["tasks:read", "tasks:write"]}]}
    )

    user: Annotated[Name, Field(description="Whose tasks the key sees.")]
    tenant: Annotated[Name | None, Field(description="The user's tenant, your own without it.")] = (
        None
    )
    scopes: Annotated[
        list[Scope], Field(min_length=1, max_length=5, description="What the key allows.")
    ] = ["tasks:read", "tasks:write"]  # noqa: RUF012 - pydantic copies it
    plan: Annotated[
        Name | None, Field(description="The plan that sets its limits; only operators choose.")
    ] = None
    max_pending: Annotated[
        int | None,
        Field(ge=1, le=1_000_000, description="Unfinished tasks, instead of the plan's."),
    ] = None
    expires_at: ExpiresAt | None = None

    def wish(self, tenant: str) -> Wish:
        """The key that is asked for by somebody of this tenant."""
        return Wish(
            owner=Owner(self.tenant or tenant, self.user),
            scopes=frozenset(self.scopes),
            plan=self.plan,
            max_pending=self.max_pending,
            expires_at=seconds(self.expires_at),
        )


class RotateBody(Body):
    """What `POST /v1/admin/keys/{key_id}/rotate` takes; an empty body stands for the defaults."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"overlap_seconds": 3600}]})

    overlap_seconds: Annotated[
        int,
        Field(ge=0, le=LONGEST_OVERLAP, description="The old key works on for so long at most."),
    ] = 86_400
    expires_at: ExpiresAt | None = None


class RevokeBody(Body):
    """What `POST /v1/admin/keys/{key_id}/revoke` takes: nothing yet, so that nothing is ignored."""


def _as_a_patch(schema: dict[str, Any]) -> None:
    """Nothing of it has a default: what is not named stays as it is."""
    for about in schema["properties"].values():
        about.pop("default", None)
    schema["examples"] = [{"max_pending": 5, "max_processing": None}]


class PlanBody(Body):
    """What `PATCH /v1/admin/plans/{plan}` takes. What is not named stays as it is."""

    model_config = ConfigDict(json_schema_extra=_as_a_patch)

    max_pending: Annotated[
        int, Field(ge=1, le=1_000_000, description="Unfinished tasks of a user.")
    ] = 3
    submits_per_minute: Annotated[
        int | None,
        Field(
            ge=1, le=MOST_PER_MINUTE, description="Of a user, in the long run; null: not limited."
        ),
    ] = None
    burst: Annotated[int, Field(ge=1, le=10_000, description="Submits that may come at once.")] = 1
    priorities: Annotated[
        list[Literal["low", "normal", "high"]],
        Field(min_length=1, max_length=3, description="Which priorities a submit may ask for."),
    ] = []  # noqa: RUF012 - pydantic copies it
    max_processing: Annotated[
        int | None,
        Field(
            ge=1,
            le=MOST_SLOTS,
            description="Tasks of a tenant that run at once; null: not limited.",
        ),
    ] = None

    max_upload_bytes: Annotated[
        int | None, Field(ge=1, le=MOST_UPLOAD_BYTES, description="Of one file; null: not limited.")
    ] = None
    ledger_shards: Annotated[
        int,
        Field(
            ge=1,
            le=MOST_LEDGER_SHARDS,
            description="Items that a user's books are kept in: more take more at the same time.",
        ),
    ] = 1

    @property
    def changes(self) -> dict[str, Any]:
        """What was named."""
        given = self.model_dump(include=set(self.model_fields_set))
        if "priorities" in given:
            given["priorities"] = frozenset(given["priorities"])
        return given


class AskBody(Body):
    """What `POST /v1/admin/reconcile` takes: nothing yet, so that nothing is ignored."""


def seconds(text: str | None) -> int | None:
    """A moment as epoch seconds."""
    return None if text is None else moment(text) // 1000
