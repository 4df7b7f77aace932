"""What the code emits and what the stacks watch are the same metrics, under the same dimensions."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from taskgate import metrics
from taskgate.catalog import CATALOG
from taskgate.settings import STAGES, Environment, stage

ON_AWS = [name for name in STAGES if not stage(name).emulator]
Series = tuple[str, tuple[tuple[str, str], ...]]
"""A metric's name with its dimensions, sorted: what CloudWatch takes for one and the same."""


def series(name: str, dimensions: dict[str, str]) -> Series:
    return name, tuple(sorted(dimensions.items()))


def emitted(deployment: dict[str, str]) -> set[Series]:
    """Every series that any event of a deployment writes, read out of the lines as CloudWatch does."""
    kinds = {task_type.name: task_type.pool for task_type in CATALOG}
    return {
        found
        for name, of_event in metrics.METRICS.items()
        for kind, pool in kinds.items()
        for found in _read(
            metrics.measured(
                {"event": name, "type": kind, "pool": pool}
                | {m.field: 1 for m in of_event if m.field},
                deployment,
            )
        )
    }


def _read(line: dict[str, Any]) -> Iterator[Series]:
    for directive in line["_aws"]["CloudWatchMetrics"]:
        assert directive["Namespace"] == "Taskgate"
        for metric in directive["Metrics"]:
            for keys in directive["Dimensions"]:
                yield series(metric["Name"], {key: line[key] for key in keys})


def watched(*templates: Any, resolve: Any) -> set[Series]:
    """Every series of ours that an alarm, a scaling policy or the dashboard of the templates reads."""
    found = {s for t in templates for r in t.body["Resources"].values() for s in _named(r)}
    for template in templates:
        for page in template.properties("AWS::CloudWatch::Dashboard"):
            for widget in json.loads(resolve(page["DashboardBody"]))["widgets"]:
                found |= set(_drawn(widget["properties"].get("metrics", ())))
    return found


def _named(part: Any) -> Iterator[Series]:
    """In an alarm, a metric query or a scaling policy: wherever a name stands beside our namespace."""
    if isinstance(part, dict):
        if part.get("Namespace") == "Taskgate":
            yield series(part["MetricName"], {d["Name"]: d["Value"] for d in part["Dimensions"]})
        for value in part.values():
            yield from _named(value)
    elif isinstance(part, list):
        for value in part:
            yield from _named(value)


def _drawn(lines: list[list[Any]]) -> Iterator[Series]:
    """A widget's line: namespace, name, then each dimension and its value, then how it is drawn."""
    for namespace, name, *rest in (line for line in lines if isinstance(line[0], str)):
        if namespace == "Taskgate":
            words = [word for word in rest if isinstance(word, str)]
            yield series(name, dict(zip(words[::2], words[1::2], strict=True)))


@pytest.fixture(scope="module")
def watched_by(observed, workers_of, resolve):
    """What the stacks of a stage watch."""
    return lambda name: watched(observed(name), workers_of(name), resolve=resolve)


@pytest.mark.parametrize("name", ON_AWS)
def test_each_series_that_is_watched_is_one_that_the_rooms_emit(
    synthesise, watched_by, resolve, name
):
    data, _ = synthesise(name)
    told = Environment.read(json.loads(resolve(data.body["Outputs"]["Environment"]["Value"])))
    found = watched_by(name)
    assert found - emitted(dict(told.labels)) == set()
    # Alarms, graphs and what workers are scaled by are all among them.
    assert {metric for metric, _ in found} >= {
        metrics.STUCK,
        metrics.RECONCILE_RAN,
        metrics.WASTED,
        metrics.BACKLOG,
    }


def test_two_cells_of_a_stage_in_one_account_share_no_series(watched_by, deployments, resolve):
    from tests.infra.conftest import Template  # noqa: PLC0415

    other = deployments("prod", cell="c1")
    there = watched(Template(other.observability), Template(other.workers), resolve=resolve)
    here = watched_by("prod")
    assert here & there == set()
    # Only the cell differs.
    assert {(n, tuple(x for x in d if x[0] != "cell")) for n, d in here} == {
        (n, tuple(x for x in d if x[0] != "cell")) for n, d in there
    }
