"""Every error leaves by one door: its code, its status, and no word of what is inside."""

from __future__ import annotations

import ast
from io import StringIO
from pathlib import Path

import pytest

import functions
from functions.http.problems import MethodNotAllowed, kinds, problem_of, title_of
from taskgate import errors
from tests.unit.functions.api_world import GHOST, ApiWorld
from tests.unit.functions.http_events import REQUEST_ID
from tests.unit.functions.ports_between import breaking

ROWS = (
    (errors.Unavailable(), "unavailable", 503),
    (errors.IllegalTransition("extend", "failed"), "verb_not_allowed", 409),
    (errors.TaskNotFound(), "task_not_found", 404),
    (errors.MissingScope(), "missing_scope", 403),
    (errors.Refused(None), "internal_error", 500),
    (errors.BadSetting("lease", 1, "more"), "internal_error", 500),
    (ZeroDivisionError("secret"), "internal_error", 500),
    (RecursionError("secret"), "internal_error", 500),
)


@pytest.mark.parametrize(("error", "code", "status"), ROWS, ids=str)
def test_each_error_has_its_code_and_status(error: Exception, code: str, status: int) -> None:
    problem = problem_of(error)
    assert (problem.code, problem.status) == (code, status)


def test_no_two_problems_share_a_code() -> None:
    codes = [kind.code for kind in kinds()]
    assert len(codes) == len(set(codes))


def test_every_problem_explains_itself_in_a_sentence() -> None:
    for kind in kinds():
        assert title_of(kind).endswith("."), kind
        assert "\n" not in title_of(kind), kind
        assert 400 <= kind.status < 600, kind


def test_a_problem_is_rfc_9457(api: ApiWorld) -> None:
    answer = api.get(f"/v1/tasks/{GHOST}")
    assert answer.headers["Content-Type"] == "application/problem+json"
    assert answer.json == {
        "type": "/docs#task_not_found",
        "title": "There is no such task.",
        "status": 404,
        "detail": "There is no such task.",
        "code": "task_not_found",
        "instance": REQUEST_ID,
    }


@pytest.mark.parametrize(
    ("port", "method", "path"),
    [
        ("tasks", "get_with_pulse", f"/v1/tasks/{GHOST}"),
        ("tasks", "get_with_pulse", f"/v1/tasks/{GHOST}/status"),
        ("tasks", "get", f"/v1/tasks/{GHOST}/result"),
        ("tasks", "list_by_owner", "/v1/tasks"),
        ("tasks", "ledger", "/v1/stats"),
    ],
)
def test_a_store_out_of_reach_is_503_with_the_time_to_come_back(
    port: str, method: str, path: str
) -> None:
    api = ApiWorld(between=breaking(port, method, errors.Unavailable("table t of account 1")))
    answer = api.get(path)
    assert (answer.status, answer.code) == (503, "unavailable")
    assert int(answer.headers["Retry-After"]) > 0
    assert "account" not in answer.text


def test_a_bug_of_ours_is_500_without_internals_and_is_logged(
    logged: StringIO,
) -> None:
    api = ApiWorld(between=breaking("tasks", "get_with_pulse", KeyError("s3cret-arn")))
    answer = api.get(f"/v1/tasks/{GHOST}")
    assert (answer.status, answer.code) == (500, "internal_error")
    assert "s3cret" not in answer.text
    text = logged.getvalue()
    assert "request_broke" in text
    assert "Traceback" in text
    assert REQUEST_ID in text


def test_an_unknown_path_is_404_and_an_unknown_method_405(api: ApiWorld) -> None:
    assert api.get("/v2/tasks").code == "no_such_route"
    assert api.get("/v1/tasks/").code == "no_such_route"
    answer = api.ask("DELETE", f"/v1/tasks/{GHOST}")
    assert (answer.status, answer.code) == (405, "method_not_allowed")
    assert answer.headers["Allow"] == "GET"
    assert api.ask("PUT", "/v1/tasks").headers["Allow"] == "POST, GET"
    assert MethodNotAllowed(("GET",)).allowed == ("GET",)


def test_a_status_is_set_where_a_problem_is_declared_and_nowhere_else() -> None:
    """No route builds an error answer by hand: a 4xx or 5xx stands in no module but the one."""
    root = Path(functions.__file__).parent
    for path in (path for room in ("admin", "api", "http") for path in (root / room).glob("*.py")):
        # The closed door answers as AWS does at an address that is closed: it is no route.
        if path.name in {"problems.py", "door.py"}:
            continue
        numbers = [
            n.value for n in ast.walk(ast.parse(path.read_text())) if isinstance(n, ast.Constant)
        ]
        wrong = [n for n in numbers if isinstance(n, int) and 400 <= n < 500 and n != 500]
        assert not wrong, path


def test_no_answer_is_taken_for_another_kind_of_thing_than_it_says(api: ApiWorld) -> None:
    task_id = api.submitted()
    for path in ("/healthz", "/docs", "/openapi.json", "/v1/tasks", f"/v1/tasks/{task_id}/status"):
        assert api.get(path).headers["X-Content-Type-Options"] == "nosniff"
    for refused in (api.get("/v1/tasks", None), api.get(f"/v1/tasks/{task_id}/result")):
        assert refused.headers["X-Content-Type-Options"] == "nosniff"
    assert "default-src 'none'" in api.get("/docs").headers["Content-Security-Policy"]
