"""Spans are sent from every room of a stage that names a collector, and from no other."""

from __future__ import annotations

import pytest

from taskgate.settings import OFF, STAGES
from tests.infra.conftest import Template

COLLECTOR = "https://collector.example"


def test_no_stage_sends_spans_unless_it_names_a_collector(synthesise):
    for name in STAGES:
        assert _told_of(synthesise(name)[1]) == {OFF}


@pytest.mark.parametrize("part", ["gateway", "workers"])
def test_a_stage_that_names_a_collector_tells_every_room_of_it(deployments, part):
    deployed = deployments("prod", otlp_endpoint=COLLECTOR)
    assert _told_of(Template(getattr(deployed, part))) == {COLLECTOR}


def _told_of(template: Template) -> set[str | None]:
    functions = [
        f["Environment"]["Variables"] for f in template.properties("AWS::Lambda::Function")
    ]
    workers = [
        {v["Name"]: v["Value"] for v in container["Environment"]}
        for task in template.properties("AWS::ECS::TaskDefinition")
        for container in task["ContainerDefinitions"]
    ]
    return {variables.get("TASKGATE_OTLP_ENDPOINT") for variables in functions + workers}
