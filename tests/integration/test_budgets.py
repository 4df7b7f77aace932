"""The budgets of calls and write units (DESIGN section 4), counted on the emulator."""

from __future__ import annotations

import itertools
import json
from pathlib import Path
from typing import Any

import pytest

from taskgate.aws.ports import build
from taskgate.cost.flows import BUDGETS
from taskgate.testing import aws_resources
from tests.integration.measuring import environment_with_errands, measure

_NUMBERS = itertools.count(1)


@pytest.fixture
def found(_emulated: None, tmp_path: Path) -> dict[str, Any]:
    """Measured on tables and lanes of its own: the sweep would count what another test left due."""
    alone = environment_with_errands(aws_resources.create(f"budgets{next(_NUMBERS)}"))
    return measure(build(alone), alone, tmp_path)


def test_a_happy_life_keeps_the_budgets_of_calls_and_write_units(found: dict[str, Any]) -> None:
    calls = {name: flow["calls"] for name, flow in found["flows"].items()}
    # The rate, the records, the message, the mark: the 4 calls of the design.
    assert calls["submit"] == {"TransactWriteItems": 1, "SendMessage": 1, "UpdateItem": 2}
    assert calls["status"] == {"BatchGetItem": 1}
    assert calls["claim"] == {"ReceiveMessage": 1, "UpdateItem": 1, "GetItem": 1}
    assert calls["beat"] == {"UpdateItem": 1, "ChangeMessageVisibility": 1}
    assert calls["finish"] == {"PutObject": 1, "TransactWriteItems": 1, "DeleteMessage": 1}
    life = sum(found["flows"][flow]["write_units"] for flow in ("submit", "claim", "finish"))
    print(f"write units of a happy life: {life}")  # noqa: T201 - a figure to quote
    assert 0 < life <= 24
    print(f"bytes of the ended task item: {found['bytes']['task']}")  # noqa: T201 - a figure to quote
    assert found["bytes"]["task"] < 1024


def test_the_cost_model_counts_what_is_measured(found: dict[str, Any]) -> None:
    """After a wanted change: ``python -m tests.integration.measuring``."""
    recorded = json.loads(BUDGETS.read_text())
    assert found["bytes"]["task"] == pytest.approx(recorded["bytes"]["task"], rel=0.1)
    assert found["flows"].keys() == recorded["flows"].keys()
    for name, flow in recorded["flows"].items():
        # Ids and times differ in length from run to run; nothing else may differ.
        logged, now_logged = (f.pop("log_bytes", 0) for f in (flow, found["flows"][name]))
        assert now_logged == pytest.approx(logged, rel=0.1)
        assert found["flows"][name] == flow
