"""Cases of other projects about empty texts in keys (B78), each input tried on a strict store."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
from moto import mock_aws

from taskgate.aws.ports import build
from taskgate.testing import aws_resources
from tests.unit.functions.api_world import PROMPT, ApiWorld


@pytest.fixture
def strict() -> Iterator[ApiWorld]:
    """The API over real requests to DynamoDB, each of which must keep its rules."""
    with mock_aws():
        ports = build(aws_resources.create("strict"))
        yield ApiWorld(between=lambda memory: replace(memory, tasks=ports.tasks))


EMPTY: tuple[tuple[dict[str, Any], str | None], ...] = (
    ({"callback_url": ""}, "callback_url"),
    ({"metadata": {"": ""}}, "metadata"),
    ({"metadata": {"": "x"}}, "metadata"),
    ({"metadata": {"a": ""}}, None),
    ({"metadata": {}}, None),
    ({"tenant_tag": ""}, "tenant_tag"),
    ({"type": ""}, "type"),
    ({"run_at": ""}, "run_at"),
    ({"priority": ""}, "priority"),
    ({"callback_events": []}, "callback_events"),
    ({"then": []}, None),
)


@pytest.mark.parametrize(("fields", "named"), EMPTY, ids=str)
def test_an_empty_text_is_refused_by_name_or_stored_beside_the_keys(
    strict: ApiWorld, fields: dict[str, Any], named: str | None
) -> None:
    answer = strict.submit({**PROMPT, **fields})
    if named is None:
        assert answer.status == 202
        assert strict.get(f"/v1/tasks/{answer.json['id']}").status == 200
        assert len(strict.get("/v1/tasks").json["tasks"]) == 1
    else:
        assert answer.status == 422
        assert any(field.startswith(named) for field in answer.fields)
