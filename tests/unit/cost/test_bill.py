"""The cost model: measured flows, times what was asked for, times the prices of one file."""

from __future__ import annotations

import json
import tomllib
from dataclasses import replace
from typing import Any

import pytest

from taskgate.cost.bill import PRICES, bill, instances
from taskgate.cost.flows import BUDGETS
from taskgate.cost.wish import Wish
from taskgate.errors import BadSetting
from tests.unit.cli.conftest import Run, run

__all__ = ["run"]

MILLION = Wish(tasks=1e6, polls=3, run_seconds=10)
EVERYTHING = Wish(event_bus=True, nats=2, endpoints=4, gpu="g5.xlarge")


def amount(wish: Wish, price: str, how: str = "") -> float:
    lines = bill(wish).lines
    return sum(x.count.amount for x in lines if x.count.price == price and how in x.count.how)


def flows() -> Any:
    return json.loads(BUDGETS.read_text())["flows"]


def test_writes_of_a_task_are_those_that_were_measured() -> None:
    each = sum(flows()[name]["write_units"] for name in ("submit", "claim", "finish", "callback"))
    assert amount(MILLION, "million.dynamodb_write_units") == each * 1e6


def test_a_long_run_pays_for_its_beats_and_for_the_sweeps_looks() -> None:
    hour = replace(MILLION, run_seconds=3600)
    more = 240 * flows()["beat"]["write_units"] + 60 * flows()["look"]["write_units"]
    extra = amount(hour, "million.dynamodb_write_units") - amount(
        MILLION, "million.dynamodb_write_units"
    )
    assert extra == more * 1e6


def test_twice_the_tasks_cost_twice_but_for_what_stands_idle() -> None:
    twice = replace(MILLION, tasks=2e6)
    for price in ("million.http_api_requests", "million.s3_puts", "gigabyte.transfer_out"):
        assert amount(twice, price) == 2 * amount(MILLION, price)
    idle = "million.sqs_requests"
    assert amount(twice, idle, "idle") == amount(MILLION, idle, "idle") > 0
    assert amount(twice, idle, "beats") == 2 * amount(MILLION, idle, "beats")


def test_a_poll_costs_a_request_a_read_and_a_line_of_log_but_no_write() -> None:
    more = replace(MILLION, polls=4)
    assert amount(more, "million.http_api_requests") == 6e6
    assert amount(more, "million.dynamodb_write_units") == amount(
        MILLION, "million.dynamodb_write_units"
    )
    for price in ("million.dynamodb_read_units", "gigabyte.logs_ingested"):
        assert amount(more, price) > amount(MILLION, price)


def test_a_gpu_is_paid_for_its_idle_time_too() -> None:
    assert amount(replace(MILLION, gpu="g5.xlarge", busy=0.5), "hour.g5.xlarge") == pytest.approx(
        1e6 * 10 / 3600 / 0.5
    )


def test_every_price_is_used_and_the_file_says_where_it_is_from() -> None:
    prices = tomllib.loads(PRICES.read_text())
    named = {f"{unit}.{n}" for unit, rows in prices.items() if isinstance(rows, dict) for n in rows}
    used = {line.count.price for line in bill(EVERYTHING).lines}
    assert used <= named
    assert named - used == {f"hour.{name}" for name in instances() if name != "g5.xlarge"}
    assert prices["region"]
    assert prices["as_of"]


@pytest.mark.parametrize(
    ("wrong", "named"),
    [
        ({"tasks": 0}, "tasks"),
        ({"polls": -1}, "polls"),
        ({"busy": 1.5}, "busy"),
        ({"result_mb": -0.1}, "result_mb"),
    ],
)
def test_a_load_that_cannot_be_is_refused_by_name(wrong: Any, named: str) -> None:
    with pytest.raises(BadSetting, match=named):
        Wish(**wrong)


def test_the_command_adds_up_and_names_the_instances_that_it_knows(run: Run) -> None:
    told = json.loads(run("cost", "--tasks", "1e6", "--polls", "3", "--json").stdout)
    assert told["total"] == pytest.approx(sum(told["services"].values()), abs=0.1)
    assert told["total"] == pytest.approx(sum(x["dollars"] for x in told["lines"]), abs=0.01)
    shown = run("cost")
    assert "DynamoDB" in shown.stdout
    assert "A month: $" in shown.stdout
    refused = run("cost", "--gpu", "z1.tiny")
    assert refused.code == 2
    assert "g5.xlarge" in refused.stderr
