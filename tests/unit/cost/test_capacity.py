"""The table of capacities: what was measured, times the load, beside what AWS gives."""

from __future__ import annotations

from dataclasses import replace

import pytest

from taskgate.cost.bill import bill
from taskgate.cost.capacity import LOADS, MONTH, dollars, rows, short, uses
from taskgate.cost.flows import Flow, measured
from taskgate.cost.wish import Wish
from taskgate.settings import stage

WISH = Wish()


def amounts(load: float, wish: Wish = WISH) -> dict[str, float]:
    return {use.what: use.amount for use in uses(load, measured(), wish)}


def test_units_a_second_times_the_seconds_of_a_month_are_those_of_the_bill() -> None:
    """One model counts, and this one asks it in seconds: only the clock's own minutes are more there."""
    lines = bill(replace(WISH, tasks=MONTH)).lines
    writes = sum(x.count.amount for x in lines if x.count.price == "million.dynamodb_write_units")
    assert amounts(1)["DynamoDB write units a second"] * MONTH == pytest.approx(writes, rel=0.01)
    requests = sum(x.count.amount for x in lines if x.count.price == "million.http_api_requests")
    assert amounts(1)["HTTP requests a second"] * MONTH == pytest.approx(requests)


def test_a_flow_that_costs_more_shows_in_the_table() -> None:
    known = measured()
    dear = Flow(known.flows["submit"].calls, write_units=known.flows["submit"].write_units + 5)
    changed = replace(known, flows={**known.flows, "submit": dear})
    found = {u.what: u.amount for u in uses(1000, changed, WISH)}
    what = "DynamoDB write units a second"
    assert found[what] - amounts(1000)[what] == 5000


def test_twice_the_load_is_twice_of_everything() -> None:
    assert amounts(20) == pytest.approx({what: 2 * each for what, each in amounts(10).items()})


def test_a_longer_run_beats_and_holds_its_message() -> None:
    long = amounts(1, replace(WISH, run_seconds=600))
    assert long["messages in flight, all in one lane"] == 600
    beats = 600 // stage("prod").timing.beat * measured().flows["beat"].write_units
    what = "DynamoDB write units a second"
    assert long[what] - amounts(1)[what] == beats


def test_what_is_beyond_the_default_is_bold_and_what_has_none_is_not() -> None:
    table = {row[0]: row[1:] for row in rows(measured(), WISH)}
    assert all(len(row) == len(LOADS) + 1 for row in table.values())
    requests = table["HTTP requests a second"]
    assert requests == ("5", "5 k", "**50 k**", "**500 k**", "10 k (account, per Region)")
    assert not any("**" in cell for cell in table["SQS calls a second"])


def test_a_month_costs_what_the_bill_says() -> None:
    assert dollars(1, replace(WISH, gpu="g5.xlarge")) == bill(replace(WISH, tasks=MONTH)).total


@pytest.mark.parametrize(
    ("number", "told"), [(0.31, "0.3"), (5, "5"), (29.4, "29"), (1500, "1.5 k"), (2.9e6, "2.9 M")]
)
def test_numbers_are_short(number: float, told: str) -> None:
    assert short(number) == told
