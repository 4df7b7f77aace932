"""Pages of an allowed origin ask the deployed API and its bucket from a browser; others do not."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from taskgate.apikeys import issue
from taskgate.aws.keys import DynamoKeys
from taskgate.local import LocalStack
from taskgate.local.assembly import synthesise
from taskgate.principal import USER_SCOPES
from taskgate.task import Owner

pytestmark = [pytest.mark.e2e, pytest.mark.xdist_group("cors")]

PAGE = "https://app.example.com"
ASKS = {"Access-Control-Request-Method": "POST", "Access-Control-Request-Headers": "authorization"}
SHOWN = ("Location", "Retry-After", "ETag", "Idempotent-Replayed")


@pytest.fixture(scope="module")
def stack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalStack]:
    """A stack of its own: no other may be asked from a browser."""
    with LocalStack(folder=tmp_path_factory.mktemp("stack"), origins=(PAGE,)) as made:
        _as_deployed(made)
        yield made


def _as_deployed(stack: LocalStack) -> None:
    """The emulator's CloudFormation leaves CORS out of an HTTP API, which itself knows it: so it is
    given what the deployed template says, word for word.
    """
    assembly = synthesise("local", origins=(PAGE,))
    templates = [json.loads(p.read_text()) for p in assembly.rglob("*.template.json")]
    [told] = [
        resource["Properties"]["CorsConfiguration"]
        for template in templates
        for resource in template["Resources"].values()
        if resource["Type"] == "AWS::ApiGatewayV2::Api"
    ]
    apis = stack.client("apigatewayv2")
    [api] = apis.get_apis()["Items"]
    apis.update_api(ApiId=api["ApiId"], CorsConfiguration=told)


@pytest.fixture(scope="module")
def key(stack: LocalStack) -> str:
    keys = DynamoKeys(stack.client("dynamodb"), table=stack.environment.tasks_table)
    return issue(keys, Owner("pages", "pat"), USER_SCOPES, max_pending=9)


def _asked(method: str, url: str, **more: Any) -> httpx.Response:
    with httpx.Client(trust_env=False, timeout=60) as http:
        return http.request(method, url, **more)


def test_a_preflight_of_an_allowed_page_needs_no_key(stack: LocalStack) -> None:
    answer = _asked("OPTIONS", f"{stack.api_url}/v1/tasks", headers={"Origin": PAGE, **ASKS})
    assert answer.is_success
    assert answer.headers["access-control-allow-origin"] == PAGE
    assert "authorization" in answer.headers["access-control-allow-headers"].lower()
    assert "POST" in answer.headers["access-control-allow-methods"]


def test_a_preflight_of_another_page_is_granted_nothing(stack: LocalStack) -> None:
    headers = {"Origin": "https://evil.example", **ASKS}
    answer = _asked("OPTIONS", f"{stack.api_url}/v1/tasks", headers=headers)
    assert "access-control-allow-origin" not in answer.headers


def test_a_page_may_read_where_its_task_is_and_when_to_ask_again(
    stack: LocalStack, key: str
) -> None:
    body = {"type": "embed_document", "input": {"text": "from a page"}}
    headers = {"Authorization": f"Bearer {key}", "Origin": PAGE}
    answer = _asked("POST", f"{stack.api_url}/v1/tasks", json=body, headers=headers)
    assert answer.status_code == 202
    assert answer.headers["access-control-allow-origin"] == PAGE
    shown = {name.strip() for name in answer.headers["access-control-expose-headers"].split(",")}
    assert set(SHOWN) <= shown
    headers["Origin"] = "https://evil.example"
    other = _asked("GET", f"{stack.api_url}/v1/stats", headers=headers)
    assert "access-control-allow-origin" not in other.headers


def test_the_bucket_takes_a_pages_form_and_shows_it_results(stack: LocalStack) -> None:
    bucket = stack.environment.results_bucket
    [rule] = stack.client("s3").get_bucket_cors(Bucket=bucket)["CORSRules"]
    assert rule["AllowedOrigins"] == [PAGE]
    assert set(rule["AllowedMethods"]) == {"GET", "HEAD", "POST"}
