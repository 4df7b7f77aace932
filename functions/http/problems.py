"""From exceptions to RFC 9457 problems: the one place where an error gets an HTTP status."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

from aws_lambda_powertools.event_handler import Response

from functions.http.answers import text_of
from taskgate.errors import (
    FieldProblem,
    IllegalTransition,
    Problem,
    ResultNotReady,
    TaskExpired,
    Unauthenticated,
    Unavailable,
    VerbNotAllowed,
)
from taskgate.lifecycle.history import cap_bytes
from taskgate.lifecycle.states import Verb

PROBLEM_JSON: Final = "application/problem+json"
MAX_FIELDS: Final = 20
"""Of the wrong fields, so many are named: an answer must not grow with the mess that was sent."""

AWS_ANSWERS: Final = frozenset({401, 500})
"""What a listed route may also be answered with by AWS in front of the API, in its short form."""

ASKED: Final[Mapping[str, str]] = {
    Verb.EXTEND: "be extended",
    Verb.RESCUE: "be recovered; only a stalled one can",
    Verb.FAIL: "be failed by hand; only a stalled one can",
    Verb.PAUSE: "be paused",
    Verb.RESUME: "be resumed",
    Verb.REOPEN: "be run again",
    "redeliver": "be told of again; only one that has ended can",
    Verb.PRIORITIZE: "be given another priority; only one that waits can",
    Verb.RESCHEDULE: "be rescheduled; only one that has not started waiting can",
}
"""The verbs of the life cycle in the words of the routes that ask for them."""


class NoSuchRoute(Problem):
    """There is nothing at this path."""

    code, status = "no_such_route", 404


class MethodNotAllowed(Problem):
    """This path does not take this method."""

    code, status = "method_not_allowed", 405

    def __init__(self, allowed: tuple[str, ...]) -> None:
        super().__init__(f"This path takes {', '.join(allowed)}.")
        self.allowed = allowed


class TryAgain(Problem):
    """Taskgate is busy or out of reach of its store. Try again; an Idempotency-Key makes it safe."""

    code, status, retry_after = "unavailable", 503, 2


class InternalError(Problem):
    """Something went wrong on our side. It is logged under the request's id."""

    code, status = "internal_error", 500


def problem_of(error: Exception) -> Problem:
    """What the caller is told about an error. Of what we did not foresee, nothing."""
    match error:
        case Problem():
            return error
        case Unavailable():
            return TryAgain()
        case IllegalTransition():
            asked = ASKED.get(error.verb, error.verb.replace("_", " "))
            return VerbNotAllowed(f"A task that is {error.state} cannot {asked}.", error.state)
        case _:
            return InternalError()


def told(problem: Problem, request_id: str) -> Response[str]:
    """The problem as an answer."""
    return Response(
        status_code=problem.status,
        content_type=PROBLEM_JSON,
        body=text_of(_body(problem, request_id)),
        headers={"Cache-Control": "no-store", **_headers(problem)},
    )


def kinds() -> Sequence[type[Problem]]:
    """Every kind of problem that an answer may be, by status: what the reference lists."""
    return by_status(_below(Problem))


def by_status(found: Iterable[type[Problem]]) -> Sequence[type[Problem]]:
    """In the order in which every page tells of them, whatever was imported first."""
    return sorted(found, key=lambda kind: (kind.status, kind.code))


def _below(root: type[Problem]) -> Iterator[type[Problem]]:
    for kind in root.__subclasses__():
        yield kind
        yield from _below(kind)


def title_of(kind: type[Problem]) -> str:
    """The title of a kind: the same at each occurrence, as RFC 9457 wants it."""
    return (kind.__doc__ or kind.__name__).strip()


def example_of(kind: type[Problem]) -> dict[str, Any]:
    """The least that an answer of this kind says."""
    title = title_of(kind)
    return {
        "type": f"/docs#{kind.code}",
        "title": title,
        "status": kind.status,
        "detail": title,
        "code": kind.code,
        "instance": "JKJaXmPLvHcESHA=",
    }


def _body(problem: Problem, request_id: str) -> dict[str, Any]:
    body: dict[str, Any] = {
        "type": f"/docs#{problem.code}",
        "title": title_of(type(problem)),
        "status": problem.status,
        "detail": str(problem),
        "code": problem.code,
        "instance": request_id,
    }
    if problem.fields:
        body["errors"] = [_field(f) for f in problem.fields[:MAX_FIELDS]]
    if isinstance(problem, ResultNotReady | TaskExpired | VerbNotAllowed) and problem.state:
        body["state"] = problem.state
    return body


def _field(wrong: FieldProblem) -> Mapping[str, str]:
    # A field's name may be the caller's own invention, of any length.
    return {"field": cap_bytes(wrong.field, 200), "message": cap_bytes(wrong.message, 500)}


def _headers(problem: Problem) -> dict[str, str]:
    headers = {}
    if problem.retry_after is not None:
        headers["Retry-After"] = str(problem.retry_after)
    if isinstance(problem, MethodNotAllowed):
        headers["Allow"] = ", ".join(problem.allowed)
    if isinstance(problem, Unauthenticated):
        headers["WWW-Authenticate"] = "Bearer"
    return headers
