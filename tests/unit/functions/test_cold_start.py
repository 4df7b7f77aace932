"""Cold start: the real handlers come up from their environment alone, and import no more than due."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

from tests.unit.functions.api_world import ENVIRONMENT
from tests.unit.functions.http_events import Answer, http_event

HANDLERS = ("admin", "api", "authorizer", "dead_letter", "reconcile", "stale_sweep")


def _python(code: str, **changed: str) -> str:
    environ = {**os.environ, **ENVIRONMENT.as_variables(), **changed}
    done = subprocess.run(
        [sys.executable, "-c", code], env=environ, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_api_answers_a_real_event_from_a_cold_start(
    environment: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    from functions.api.handler import handler  # noqa: PLC0415 - it reads the environment

    answer = Answer.of(handler(http_event("GET", "/healthz"), None))
    assert (answer.status, answer.json["stage"]) == (200, "local")


def test_the_authorizer_refuses_what_is_no_key_without_leaving_the_process(
    environment: None,
) -> None:
    from functions.authorizer.handler import handler  # noqa: PLC0415

    assert handler(http_event("GET", "/v1/tasks"), None)["context"]["refused"]


@pytest.mark.parametrize("room", HANDLERS)
def test_a_missing_variable_fails_the_cold_start_by_its_name(room: str) -> None:
    code = f"""
from taskgate.errors import BadSetting
try:
    import functions.{room}.handler
except BadSetting as error:
    print(error)
"""
    assert "TASKGATE_LEASE" in _python(code, TASKGATE_LEASE="")


LEFT_OUT = {
    "admin": {"aws_xray_sdk", "httpx", "boto3.dynamodb", "taskgate.testing", "functions.api"},
    "api": {"aws_xray_sdk", "httpx", "boto3.dynamodb", "taskgate.testing"},
    "authorizer": {
        "pydantic",
        "ulid",
        "aws_lambda_powertools",
        "jwt",
        "cryptography",
        "boto3.dynamodb",
        "taskgate.catalog",
    },
    "dead_letter": {"pydantic", "aws_xray_sdk", "boto3.dynamodb", "taskgate.catalog"},
    "reconcile": {"pydantic", "aws_xray_sdk", "boto3.dynamodb", "taskgate.catalog"},
    "stale_sweep": {"pydantic", "aws_xray_sdk", "boto3.dynamodb", "taskgate.catalog"},
}


@pytest.mark.parametrize("room", HANDLERS)
def test_a_room_imports_no_more_than_it_needs(room: str) -> None:
    code = f"import sys, json, functions.{room}.handler; print(json.dumps(list(sys.modules)))"
    loaded = set(json.loads(_python(code)))
    assert not loaded & LEFT_OUT[room]
    assert not [name for name in loaded if name.startswith("opentelemetry")]


def test_a_room_that_tells_a_collector_needs_no_word_from_it_to_come_up() -> None:
    code = "import sys, functions.api.handler; print('opentelemetry.sdk' in sys.modules)"
    assert _python(code, TASKGATE_OTLP_ENDPOINT="http://127.0.0.1:1").split() == ["True"]


def test_a_collector_without_the_extra_fails_the_cold_start_by_its_name() -> None:
    code = """
import sys
sys.modules["opentelemetry"] = None
from taskgate.errors import BadSetting
try:
    import functions.api.handler
except BadSetting as error:
    print(error)
"""
    assert "taskgate[otlp]" in _python(code, TASKGATE_OTLP_ENDPOINT="http://127.0.0.1:1")
