"""What a stack wrote is read by an older and by a newer version of whoever is told."""

from __future__ import annotations

from dataclasses import replace

import pytest

from taskgate.errors import BadSetting
from taskgate.settings import Environment, stage
from tests.unit.gateway.test_worker_gateway import ENVIRONMENT

WRITTEN = ENVIRONMENT.as_variables()
SINCE = (
    "TRUSTED_ISSUER",
    "EVENT_BUS",
    "OTLP_ENDPOINT",
    "SALVAGE_SECONDS",
    "UPLOAD_DAYS",
    "UPLOAD_BYTES",
)


def test_what_an_earlier_stack_did_not_write_yet_has_its_default() -> None:
    """An operator's new command, or a new worker, beside a gateway that is not deployed anew yet."""
    earlier = {k: v for k, v in WRITTEN.items() if k.removeprefix("TASKGATE_") not in SINCE}
    assert len(earlier) == len(WRITTEN) - len(SINCE)
    assert Environment.read(earlier) == Environment.read(WRITTEN)


def test_what_a_later_stack_writes_is_left_alone() -> None:
    assert Environment.read({**WRITTEN, "TASKGATE_LATER": "x"}) == Environment.read(WRITTEN)


@pytest.mark.parametrize("name", ["TASKS_TABLE", "LANES", "LEASE", "ERRANDS", "WEBHOOK_MASTER"])
def test_what_nobody_can_guess_is_missed_by_its_name(name: str) -> None:
    without = {k: v for k, v in WRITTEN.items() if k != f"TASKGATE_{name}"}
    with pytest.raises(BadSetting, match=name):
        Environment.read(without)


@pytest.mark.parametrize("value", ["", "0", "soon"])
def test_a_default_takes_the_place_of_nothing_only(value: str) -> None:
    with pytest.raises(BadSetting, match="UPLOAD_DAYS"):
        Environment.read({**WRITTEN, "TASKGATE_UPLOAD_DAYS": value})


@pytest.mark.parametrize(
    "url",
    ["", "collector:4318", "ftp://collector", "https://user:secret@collector", "https://c/?key=k"],
)
def test_a_collector_is_named_by_a_plain_address_with_no_secret_in_it(url: str) -> None:
    with pytest.raises(BadSetting, match="otlp_endpoint"):
        replace(stage("local"), otlp_endpoint=url)
    assert replace(stage("local"), otlp_endpoint="https://collector.example:4318/otlp")
