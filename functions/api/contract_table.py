"""The page of every route with its scope and limits, every limit, and every error code; from the code."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from functions.api.advice import ADVICE
from functions.api.bodies import MAX_LABELS, MAX_METADATA_BYTES, MAX_SECONDS
from functions.api.openapi import OPERATIONS, refusals
from functions.api.results import LINK_SECONDS
from functions.http import strict_json
from functions.http.problems import kinds, title_of
from taskgate.catalog import CATALOG
from taskgate.errors import BodyTooLarge, RateLimited
from taskgate.gateway.door import chains, scheduling, submitting
from taskgate.gateway.door.redelivering import REDELIVERIES
from taskgate.gateway.views import listing, reading
from taskgate.plans import BUILT_IN, Plan
from taskgate.routes import ROUTES, Route
from taskgate.settings import STAGES

PROD: Final = STAGES["prod"]
LIMITING: Final = frozenset({BodyTooLarge.status, RateLimited.status})
ROUTES_HEAD: Final = (
    "| route | scope | function | limits | other refusals |",
    "|---|---|---|---|---|",
)


def page() -> str:
    """The whole page."""
    return "\n".join([*_head(), *_routes(), *_limits(), *_plans(), *_types(), *_errors()]) + "\n"


def limits() -> Mapping[str, tuple[str, str]]:
    """Each limit that is the same for everybody: its value, and what passing it is answered with."""
    return {
        "body of a request": (f"{strict_json.MAX_BODY_BYTES} bytes", "body_too_large"),
        "nesting of a body": (f"{strict_json.MAX_DEPTH} levels", "nested_too_deep"),
        "labels of a task": (f"{MAX_LABELS}, {MAX_METADATA_BYTES} bytes", "invalid_request"),
        "`expected_seconds`": (f"{MAX_SECONDS} s", "invalid_request"),
        "`run_at`, `delay`": (f"{scheduling.MAX_AHEAD_SECONDS // 86_400} days", "invalid_request"),
        "follow-ups": (
            f"{chains.MAX_STEPS} of a task, {chains.MAX_DEPTH} levels, {chains.MAX_TASKS} in all",
            "invalid_request",
        ),
        "redeliveries": (
            f"{REDELIVERIES.a_minute} a minute of a user, {REDELIVERIES.burst} at once",
            "rate_limited",
        ),
        "a page of a list": (f"{listing.MAX_PAGE} tasks", "invalid_request"),
        "`?wait=`": (f"{reading.MAX_WAIT} s", "invalid_request"),
        "`Prefer: wait`": (f"{reading.MAX_WAIT} s", "–"),
        "an idempotency key": (f"{submitting.IDEMPOTENCY_SECONDS // 3600} hours", "–"),
        "a link to a result": (f"{LINK_SECONDS // 60} minutes at most", "–"),
        "a result": (f"{PROD.result_days} days", "result_expired"),
        "a record": (f"{PROD.record_days} days", "task_expired"),
        "a lane": (f"{PROD.lane_limit} waiting", "lane_full"),
        "the whole gateway": (
            f"{PROD.requests_per_second} requests a second, {PROD.requests_burst} at once",
            "AWS's own 429",
        ),
    }


def _head() -> Iterator[str]:
    yield "# Routes, scopes, limits, errors"
    yield ""
    yield "<!-- Written by `python -m functions.api.reference`; edit the code, not this page. -->"
    yield ""
    yield "What each route takes and answers in full: [HTTP](http.md)."


def _routes() -> Iterator[str]:
    yield from ("", "## Every route", "", *ROUTES_HEAD)
    for route in ROUTES:
        yield _route(route)


def _route(route: Route) -> str:
    found = refusals(route)
    limiting = [f"`{kind.code}`" for kind in found if kind.status in LIMITING]
    others = [f"`{kind.code}`" for kind in found if kind.status not in LIMITING]
    scope = OPERATIONS[route.method, route.path].scope
    cells = (
        f"`{route.method} {route.path}`",
        "public" if route.public else (f"`{scope}`" if scope else "any key"),
        route.room,
        " ".join(limiting) or "–",
        " ".join(others) or "–",
    )
    return f"| {' | '.join(cells)} |"


def _limits() -> Iterator[str]:
    yield from ("", "## Limits of everybody", "", "| what | limit | answer |", "|---|---|---|")
    for what, (limit, code) in limits().items():
        known = f"`{code}`" if code in ADVICE else code
        yield f"| {what} | {limit} | {known} |"
    yield ""
    yield "Days, lanes and requests are those of the stage `prod`; a deployment may set others."


def _plans() -> Iterator[str]:
    yield from ("", "## Limits of a plan", "")
    yield "As they are built in; an operator changes them without a deploy (`taskgate plans set`)."
    yield ""
    yield "| plan | unfinished tasks of a user | submits a minute, at once | priorities | running of a tenant |"
    yield "|---|---|---|---|---|"
    yield from map(_plan, BUILT_IN.values())
    yield ""
    yield "Passing them is `too_many_pending_tasks`, `rate_limited`, `priority_not_allowed`; what may not"
    yield "run yet waits in its lane."


def _plan(plan: Plan) -> str:
    rate = f"{plan.submits_per_minute}, {plan.burst}" if plan.submits_per_minute else "no limit"
    running = str(plan.max_processing or "no limit")
    names = ", ".join(sorted(plan.priorities))
    return f"| {plan.name} | {plan.max_pending} | {rate} | {names} | {running} |"


def _types() -> Iterator[str]:
    yield from ("", "## Limits of a task type", "", "Seconds.", "")
    yield "| type | waiting | one run | longest run | whole life | running at the same time |"
    yield "|---|---|---|---|---|---|"
    for kind in CATALOG:
        spans = (kind.queue_timeout, kind.run_timeout, kind.max_run, kind.deadline)
        most = str(kind.max_processing or "no limit")
        yield f"| `{kind.name}` | {' | '.join(map(str, spans))} | {most} |"


def _errors() -> Iterator[str]:
    yield from ("", "## Every error code", "")
    yield "Each is an RFC 9457 problem. `Retry-After` is in seconds; where there is none, the same request"
    yield "will be refused again."
    yield from (
        "",
        "| code | status | when | `Retry-After` | what to do |",
        "|---|---|---|---|---|",
    )
    for kind in kinds():
        again = str(kind.retry_after or "–")
        when = title_of(kind).replace("\n", " ")
        yield f"| `{kind.code}` | {kind.status} | {when} | {again} | {ADVICE[kind.code]} |"
