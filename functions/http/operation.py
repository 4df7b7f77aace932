"""What one route does, as its caller should understand it; the words that all routes share."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from functions.http import problems
from functions.http.shapes import ID, Schema
from taskgate import errors
from taskgate.errors import Problem
from taskgate.principal import NAME

Problems = tuple[type[Problem], ...]


@dataclass(frozen=True, slots=True)
class Parameter:
    """A query parameter or a header."""

    name: str
    place: str
    about: str
    schema: Schema
    required: bool = False


@dataclass(frozen=True, slots=True)
class Answered:
    """One kind of success: its schema's name, or None when there is no body."""

    about: str
    schema: str | None = None
    headers: tuple[str, ...] = ()
    media: str = "application/json"


@dataclass(frozen=True, slots=True, kw_only=True)
class Operation:
    """What one route does."""

    name: str
    summary: str
    answers: Mapping[int, Answered]
    scope: str | None = None
    """What the key must be good for; None when any key will do, or none is needed."""
    about: str = ""
    parameters: tuple[Parameter, ...] = ()
    body: str | None = None
    body_required: bool = True
    refuses: Problems = field(default=())


TASK_ID: Final = Parameter("task_id", "path", "The task's id.", ID, required=True)
ON_BEHALF_OF: Final = Parameter(
    "Taskgate-On-Behalf-Of",
    "header",
    "The user of your tenant for whom this is asked, with a key of the scope `delegate`: that user's"
    " tasks, books and limits count. The history names both.",
    {"type": "string", "pattern": f"^{NAME.pattern}$"},
)
"""Every route behind a key takes it, but for those that no user has."""
DELEGATED: Final[Problems] = (errors.MissingScope, errors.BadOnBehalfOf)
ALWAYS: Final[Problems] = (
    errors.Unauthenticated,
    errors.ExpiredKey,
    problems.InternalError,
    problems.TryAgain,
)
"""What every route behind a key may answer."""
READS: Final[Problems] = (errors.MissingScope, errors.InvalidRequest)
JSON_BODY: Final[Problems] = (
    errors.EmptyBody,
    errors.MalformedJson,
    errors.DuplicateKey,
    errors.LoneSurrogate,
    errors.NestedTooDeep,
    errors.BodyTooLarge,
    errors.NotAnObject,
    errors.InexactNumber,
    errors.InvalidRequest,
)
