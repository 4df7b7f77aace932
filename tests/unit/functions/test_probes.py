"""Every route and every parameter, asked for what belongs to another tenant.

The routes and their parameters are read from the OpenAPI document. Each place in which something can
be named has a probe that names what is another's, or is said to name nothing that anybody owns; a new
one that is neither fails here.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final

import pytest

from taskgate.apikeys import id_of, issue
from taskgate.principal import SCOPES, USER_SCOPES, Principal
from taskgate.receivers import Health
from taskgate.task import Owner
from tests.unit.functions.api_world import ADA, EVE, GHOST, OPERATOR, PROMPT, ApiWorld
from tests.unit.functions.http_events import Answer
from tests.unit.functions.schema_fits import DOCUMENT

EVIL_ADMIN: Final = replace(EVE, scopes=USER_SCOPES | {"admin"})
EVIL_SERVER: Final = replace(EVE, scopes=USER_SCOPES | {"delegate"})
COLLEAGUE: Final = Principal(Owner("acme", "bob"), USER_SCOPES, 50, "k3")
STRANGERS: Final = {
    "another tenant's user": EVE,
    "another tenant's administrator": EVIL_ADMIN,
    "another tenant's server": EVIL_SERVER,
    "a colleague": COLLEAGUE,
}
HEADER: Final = "Taskgate-On-Behalf-Of"
REFUSED: Final = {403, 404}


@dataclass(frozen=True)
class Place:
    """A place in a request in which something can be named."""

    method: str
    path: str
    kind: str
    """path, query, header or body."""
    name: str
    operation: Mapping[str, Any] = field(hash=False, compare=False)

    def __str__(self) -> str:
        return f"{self.method} {self.path} {self.kind} {self.name}"


def places() -> Iterator[Place]:
    """All of them, as the document lists them."""
    for path, methods in DOCUMENT["paths"].items():
        for method, operation in methods.items():
            for parameter in operation["parameters"]:
                yield Place(method.upper(), path, parameter["in"], parameter["name"], operation)
            for name in _body(operation):
                yield Place(method.upper(), path, "body", name, operation)


def _body(operation: Mapping[str, Any]) -> Mapping[str, Any]:
    if "requestBody" not in operation:
        return {}
    [content] = operation["requestBody"]["content"].values()
    name = content["schema"]["$ref"].rpartition("/")[2]
    return DOCUMENT["components"]["schemas"][name]["properties"]


@dataclass(frozen=True)
class Theirs:
    """What acme has, and what nobody has, by the place that names it."""

    api: ApiWorld
    task_id: str
    key_id: str
    bulk_id: str
    cursors: Mapping[str, str]

    def of(self, place: Place) -> tuple[str, str] | None:
        """Acme's value and nobody's; None when the place names nothing that anybody owns."""
        return PROBES[place.kind, place.name](self, place)


Probe = Callable[[Theirs, Place], tuple[str, str] | None]


def _nothing(theirs: Theirs, place: Place) -> None:
    return None


PROBES: Final[Mapping[tuple[str, str], Probe]] = {
    ("path", "task_id"): lambda theirs, _: (theirs.task_id, GHOST),
    ("path", "key_id"): lambda theirs, _: (theirs.key_id, "k" * 12),
    ("path", "bulk_id"): lambda theirs, _: (theirs.bulk_id, f"bulk_{'0' * 26}"),
    ("path", "tenant"): lambda *_: ("acme", "nowhere"),
    # The user is probed with the tenant; plans belong to no tenant and are the operators'.
    ("path", "user"): _nothing,
    ("path", "plan"): _nothing,
    ("query", "cursor"): lambda theirs, place: (theirs.cursors[place.path], "x" * 40),
    ("query", "tenant"): lambda *_: ("acme", "nowhere"),
    ("header", HEADER): lambda *_: ("ada", "nobody"),
    ("body", "tenant"): lambda *_: ("acme", "nowhere"),
    # A key of an Idempotency-Key's user alone: its own test shows that users' keys never meet.
    ("header", "Idempotency-Key"): lambda *_: ("shared", "fresh"),
    # An ETag is a hash of the answer: it opens nothing. The file is one of the path's own task.
    ("header", "If-None-Match"): _nothing,
    ("query", "file"): _nothing,
    **dict.fromkeys(
        [
            *(("header", n) for n in ("Prefer", "traceparent", "tracestate")),
            *(("query", n) for n in ("limit", "state", "type", "since", "until", "wait", "inline")),
            *(("query", n) for n in ("day", "code")),
        ],
        _nothing,
    ),
}
"""A place that is not here has not been thought of, and fails."""
PLAIN_BODY: Final = {
    "Submit": {
        "type", "input", "priority", "metadata", "run_at", "delay", "expected_seconds", "timeouts",
        "callback_url", "callback_events", "then", "reuse",
    },
    "UploadTerms": {"content_type", "bytes", "sha256", "name"},
    "Cancel": {"mode", "reason"},
    "Reason": {"reason"},
    "Extend": {"seconds", "reason"},
    "Reschedule": {"run_at", "delay", "reason"},
    "Priority": {"priority", "reason"},
    # The user is one of the body's tenant; a plan is judged by its own tests of who may give it.
    "IssueKey": {"user", "scopes", "plan", "max_pending", "expires_at"},
    "RotateKey": {"overlap_seconds", "expires_at"},
    "RevokeKey": set(),
    # A bulk act's tenant is probed; all else narrows what is that tenant's.
    "PlanBulk": {
        "act", "reason", "user", "type", "states", "since", "until", "code", "day", "callback",
    },
    # Made for one plan and one key; a token of another is a test of bulk acts.
    "ConfirmBulk": {"token"},
    "StopBulk": set(),
    "AskReconcile": set(),
    # Lanes and types are everybody's, and the operators' alone to pause.
    "PauseSwitch": {"kind", "name", "reason", "until", "refuse"},
    "ResumeSwitch": {"kind", "name", "reason"},
    "SetPlan": {
        "max_pending", "submits_per_minute", "burst", "priorities", "max_processing",
        "max_upload_bytes", "ledger_shards",
    },
}  # fmt: skip
"""Fields that name nothing that anybody owns, by the body."""
BODIES: Final = {
    "submitTask": PROMPT,
    "beginUpload": {"content_type": "application/pdf", "bytes": 1000},
    "extendTask": {"seconds": 60},
    "rescheduleTask": {"delay": 60},
    "prioritizeTask": {"priority": "low"},
    "issueKey": {"user": "ada"},
    "setPlan": {"burst": 1},
    "planBulk": {"act": "cancel", "type": "text_to_image", "reason": "a flood"},
    "confirmBulk": {"token": "0" * 40},
    "pauseSwitch": {"kind": "lane", "name": "gpu-low", "reason": "a probe"},
    "resumeSwitch": {"kind": "lane", "name": "gpu-low"},
}
"""What a route must be sent to get as far as the question whose it is."""
PUT_IN: Final = {
    "task_id": GHOST,
    "key_id": "k" * 12,
    "bulk_id": f"bulk_{'0' * 26}",
    "tenant": "evil",
    "user": "ada",
    "plan": "free",
}


@pytest.fixture
def theirs(api: ApiWorld) -> Theirs:
    """Acme with a task, a key, books, a used Idempotency-Key, and lists that go on."""
    task_id = api.submit(PROMPT, key="shared").json["id"]
    api.submitted()
    for number in range(101):
        issue(api.world.keys, Owner("acme", f"user{number}"), USER_SCOPES)
    key_id = id_of(issue(api.world.keys, ADA.owner, USER_SCOPES))
    for number in range(101):
        ill = Health(failures=1)
        api.world.receivers.swap(f"acme|{number}.example.com:443", Health(), ill)
    admin = replace(COLLEAGUE, scopes=USER_SCOPES | {"admin"})
    bulk_id, *_ = [_planned(api, admin) for _ in range(21)]
    admins = ("/v1/admin/keys", "/v1/admin/receivers", "/v1/admin/bulk")
    callers = {"/v1/tasks": ADA, **dict.fromkeys(admins, admin)}
    cursors = {
        path: api.get(path, caller, query=_limited(path)).json["next_cursor"]
        for path, caller in callers.items()
    }
    cursors |= dict.fromkeys(("/v1/admin/tasks", "/v1/admin/problems"), _operators_cursor(api))
    assert all(cursors.values())
    return Theirs(api, task_id, key_id, bulk_id, cursors)


def _planned(api: ApiWorld, admin: Principal) -> str:
    answer = api.post("/v1/admin/bulk", BODIES["planBulk"], admin)
    return str(answer.json["bulk"]["id"])


def _limited(path: str) -> dict[str, str]:
    return {"limit": "1"} if path == "/v1/tasks" else {}


def _operators_cursor(api: ApiWorld) -> str:
    answer = api.get("/v1/admin/tasks", OPERATOR, query={"limit": "1"})
    return str(answer.json["next_cursor"])


def ask(theirs: Theirs, place: Place, value: str, caller: Principal) -> Answer:
    """The route, asked by a stranger with this value in the place."""
    put = {**PUT_IN, **({place.name: value} if place.kind == "path" else {})}
    body = dict(BODIES.get(place.operation["operationId"], {}))
    if place.kind == "body":
        body[place.name] = value
    return theirs.api.ask(
        place.method,
        place.path.format(**put),
        caller,
        body=json.dumps(body) if _body(place.operation) else None,
        query={place.name: value} if place.kind == "query" else None,
        headers={place.name: value} if place.kind == "header" else None,
    )


def told(answer: Answer) -> tuple[int, str]:
    return answer.status, answer.text


ALL: Final = list(places())
NAMING: Final = [
    p for p in ALL if p.kind != "body" and PROBES.get((p.kind, p.name)) is not _nothing
]


@pytest.mark.parametrize("place", ALL, ids=str)
def test_each_place_that_can_name_something_has_been_thought_of(place: Place) -> None:
    if place.kind == "body":
        [content] = place.operation["requestBody"]["content"].values()
        schema = content["schema"]["$ref"].rpartition("/")[2]
        known = place.name in PLAIN_BODY.get(schema, ()) or ("body", place.name) in PROBES
        assert known, f"say what {place} may name, here"
    else:
        assert (place.kind, place.name) in PROBES, f"say what {place} may name, here"


def test_every_route_that_names_one_thing_by_its_path_is_probed() -> None:
    probed = {(p.method, p.path) for p in NAMING if p.kind == "path"}
    named = {
        (method.upper(), path)
        for path, methods in DOCUMENT["paths"].items()
        for method in methods
        if "{" in path
    }
    assert named - probed == {("PATCH", "/v1/admin/plans/{plan}")}


@pytest.mark.parametrize("who", STRANGERS)
@pytest.mark.parametrize("place", [p for p in NAMING if p.kind == "path"], ids=str)
def test_what_is_anothers_is_answered_in_a_path_as_what_is_nobodys(
    theirs: Theirs, place: Place, who: str
) -> None:
    pair = theirs.of(place)
    assert pair is not None
    before = _records(theirs.api)
    answers = [ask(theirs, place, value, STRANGERS[who]) for value in pair]
    assert told(answers[0]) == told(answers[1])
    assert answers[0].status in REFUSED, answers[0].text
    assert _records(theirs.api) == before


@pytest.mark.parametrize("who", STRANGERS)
@pytest.mark.parametrize("place", [p for p in NAMING if p.kind == "query"], ids=str)
def test_what_is_anothers_opens_nothing_in_a_query(theirs: Theirs, place: Place, who: str) -> None:
    pair = theirs.of(place)
    assert pair is not None
    answers = [ask(theirs, place, value, STRANGERS[who]) for value in pair]
    assert told(answers[0]) == told(answers[1])
    assert answers[0].code in {"bad_cursor", "missing_scope"}


@pytest.mark.parametrize("who", STRANGERS)
@pytest.mark.parametrize("place", [p for p in NAMING if p.name == HEADER], ids=str)
def test_acting_for_somebody_of_ones_own_tenant_reaches_nothing_of_another(
    theirs: Theirs, place: Place, who: str
) -> None:
    """Acme has an ada, too: what evil's ada is answered tells nothing of her."""
    before = _records(theirs.api)
    of_acmes = replace(place, path=place.path.replace("{task_id}", theirs.task_id))
    answers = [ask(theirs, of_acmes, user, STRANGERS[who]) for user in ("ada", "nobody")]
    if "delegate" not in STRANGERS[who].scopes:
        assert {answer.code for answer in answers} == {"missing_scope"}
    elif of_acmes != place:
        assert {answer.status for answer in answers} <= REFUSED
    for answer in answers:
        assert "acme" not in answer.text
        assert theirs.task_id not in answer.text
    changed = {i for i, task in _records(theirs.api).items() if before.get(i) is not task}
    assert {theirs.api.tasks[i].owner.tenant for i in changed} <= {"evil"}


@pytest.mark.parametrize("who", STRANGERS)
def test_a_used_idempotency_key_tells_a_stranger_nothing(theirs: Theirs, who: str) -> None:
    answer = theirs.api.submit({**PROMPT, "priority": "low"}, STRANGERS[who], key="shared")
    assert answer.status == 202
    assert answer.json["id"] != theirs.task_id


@pytest.mark.parametrize("who", STRANGERS)
def test_nobody_plans_an_act_on_anothers_tasks(theirs: Theirs, who: str) -> None:
    tenant = "acme" if STRANGERS[who].owner.tenant != "acme" else "evil"
    body = {**BODIES["planBulk"], "tenant": tenant}
    before = _records(theirs.api)
    answer = theirs.api.post("/v1/admin/bulk", body, STRANGERS[who])
    assert (answer.status, answer.code) == (403, "missing_scope")
    assert _records(theirs.api) == before


@pytest.mark.parametrize("who", STRANGERS)
def test_nobody_is_issued_a_key_of_another_tenant(theirs: Theirs, who: str) -> None:
    body = {"user": "ada", "tenant": "acme" if STRANGERS[who].owner.tenant != "acme" else "evil"}
    answer = theirs.api.post("/v1/admin/keys", body, STRANGERS[who])
    assert (answer.status, answer.code) == (403, "missing_scope")


SCOPED: Final = [
    (method.upper(), path, operation)
    for path, methods in DOCUMENT["paths"].items()
    for method, operation in methods.items()
    if operation["security"]
]


@pytest.mark.parametrize(
    ("method", "path", "operation"), SCOPED, ids=lambda part: part if isinstance(part, str) else ""
)
def test_each_route_demands_its_scope_of_whoever_asks(
    theirs: Theirs, method: str, path: str, operation: Mapping[str, Any]
) -> None:
    """With every other scope at once, in the task's own tenant: 403, and nothing has changed."""
    scope = operation.get("x-scope")
    place = Place(method, path, "path", "task_id", operation)
    before = _records(theirs.api)
    without = replace(ADA, scopes=_without(scope))
    answer = ask(theirs, place, theirs.task_id, without)
    assert (answer.status == 403) is (scope is not None)
    if scope:
        assert answer.code == "missing_scope"
        assert _records(theirs.api) == before


def _without(scope: str | None) -> frozenset[str]:
    """All scopes but this one; an operator is an administrator, too."""
    return SCOPES - ({scope, "operator"} if scope == "admin" else {scope or ""})


def _records(api: ApiWorld) -> dict[str, Any]:
    keys = {key.id: key for key in api.world.keys.list_keys().rows}
    bulks = {bulk.id: bulk for bulk in api.world.bulks.list_bulks().rows}
    turned = dict(api.world.switches.read_switches().by_key)
    return {
        **api.tasks,
        **keys,
        **bulks,
        **turned,
        **{plan.name: plan for plan in api.plans.list_plans()},
    }
