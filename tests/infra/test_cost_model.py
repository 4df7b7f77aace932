"""What the cost model takes for granted about the stacks is what the stacks have."""

from __future__ import annotations

from taskgate.cost.counts import ALARMS, MEMORY_GB


def test_the_cost_model_knows_each_functions_memory(gateway):
    memory = {
        f["Handler"].split(".")[1]: f["MemorySize"] / 1024
        for f in gateway.properties("AWS::Lambda::Function")
    }
    assert {room: memory[room] for room in MEMORY_GB} == MEMORY_GB


def test_the_cost_model_knows_about_how_many_alarms_there_are(observed):
    alarms = observed("prod").of_type("AWS::CloudWatch::Alarm")
    assert abs(len(alarms) - ALARMS) <= 5
