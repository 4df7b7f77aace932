"""From zero and back: the template's own expressions and steps, played through."""

from __future__ import annotations

import math
import re

import pytest

from taskgate import metrics
from taskgate.catalog import CATALOG
from taskgate.settings import stage

ALARM, POLICY = "AWS::CloudWatch::Alarm", "AWS::ApplicationAutoScaling::ScalingPolicy"
OURS = {name.name for found in metrics.METRICS.values() for name in found}


def value(expression: str, **known: float | None) -> float:
    """A metric expression as CloudWatch computes it, for one moment; None is a metric without data."""

    def fill(name: float | None, otherwise: float) -> float:
        return otherwise if name is None else name

    def if_(condition: bool, then: float, otherwise: float) -> float:
        return then if condition else otherwise

    python = re.sub(r"\bIF\(", "if_(", expression).replace(" AND ", " and ")
    python = python.replace("FILL(", "fill(")
    return float(eval(python, {"if_": if_, "fill": fill}, known))  # noqa: S307 - our own template


class Pool:
    """A pool's target with its policies: what Application Auto Scaling makes of them."""

    def __init__(self, template, pool: str) -> None:
        def of_pool(kind: str) -> dict[str, dict]:
            return {
                name: r["Properties"]
                for name, r in template.of_type(kind).items()
                if name.startswith(f"{pool}pool")
            }

        [self.target] = of_pool("AWS::ApplicationAutoScaling::ScalableTarget").values()
        self.policies = of_pool(POLICY)
        self.alarms = {
            alarm["AlarmName"].rpartition(f"-{pool}-")[2]: alarm
            for alarm in of_pool(ALARM).values()
        }
        [self.tracking] = [
            p["TargetTrackingScalingPolicyConfiguration"]
            for p in self.policies.values()
            if p["PolicyType"] == "TargetTrackingScaling"
        ]

    def followed(self, backlog: float, wanted: float) -> int:
        """Where target tracking goes from so many wanted workers: in proportion to the share."""
        [share] = [
            m["Expression"]
            for m in self.tracking["CustomizedMetricSpecification"]["Metrics"]
            if m["ReturnData"]
        ]
        now = value(share, backlog=backlog, wanted=wanted)
        return self.bounded(math.ceil(wanted * now / self.tracking["TargetValue"]))

    def stepped(self, alarm: str, wanted: int) -> int:
        """What the step of an alarm makes of so many wanted workers."""
        [action] = self.alarms[alarm]["AlarmActions"]
        step = self.policies[action["Ref"]]["StepScalingPolicyConfiguration"]
        [adjustment] = step["StepAdjustments"]
        change = adjustment["ScalingAdjustment"]
        exact = step["AdjustmentType"] == "ExactCapacity"
        return self.bounded(change if exact else wanted + change)

    def speaks(self, alarm: str, **known: float | None) -> bool:
        """Whether the alarm's expression is over its threshold."""
        found = self.alarms[alarm]
        [query] = [m for m in found["Metrics"] if m["ReturnData"]]
        return value(query["Expression"], **known) > found["Threshold"]

    def bounded(self, workers: int) -> int:
        return max(self.target["MinCapacity"], min(self.target["MaxCapacity"], workers))


@pytest.fixture(scope="module", params=CATALOG.pools)
def pool(request, workers_of) -> Pool:
    return Pool(workers_of("prod"), request.param)


@pytest.fixture(scope="module")
def gpu(workers_of) -> Pool:
    return Pool(workers_of("prod"), "gpu")


def test_one_message_and_no_worker_ask_for_the_first_one(pool):
    for wanted in (0, None):  # a service without workers may have no metrics at all
        assert pool.speaks("from-zero", backlog=1, wanted=wanted)
    assert pool.stepped("from-zero", 0) == 1


def test_without_work_nobody_asks_and_with_workers_the_first_step_is_silent(pool):
    assert not pool.speaks("from-zero", backlog=0, wanted=0)
    assert not pool.speaks("from-zero", backlog=500, wanted=1)


def test_a_late_step_from_zero_takes_nothing_back(pool):
    # The number of wanted workers is told a minute late: the step may come once too often.
    assert pool.stepped("from-zero", 5) >= 5


def test_the_backlog_is_what_waits_and_what_runs_and_is_there_without_workers(pool):
    for alarm in pool.alarms.values():
        used = [
            m["MetricStat"]["Metric"]["MetricName"] for m in alarm["Metrics"] if "MetricStat" in m
        ]
        assert metrics.BACKLOG in used
    assert metrics.BACKLOG in OURS


def test_a_burst_brings_as_many_workers_as_it_needs_and_their_spare(gpu):
    each, spare = stage("prod").workers.pools["gpu"].backlog_each, 1
    assert gpu.followed(backlog=10, wanted=1) == 10 / each + spare
    assert gpu.followed(backlog=10_000, wanted=1) == gpu.target["MaxCapacity"]


def test_workers_that_are_still_starting_are_not_asked_for_again(gpu):
    asked = gpu.followed(backlog=10, wanted=1)
    assert gpu.followed(backlog=10, wanted=asked) == asked


def test_when_work_grows_less_so_do_workers(gpu):
    assert gpu.followed(backlog=2, wanted=8) < 8


def test_work_that_runs_keeps_its_workers_though_nothing_waits(gpu):
    running = 3
    assert gpu.followed(backlog=running, wanted=running) >= math.ceil(running / 2)
    assert not gpu.speaks("idle", backlog=running)


def test_long_without_work_a_pool_goes_back_to_zero(pool):
    assert pool.speaks("idle", backlog=0)
    assert pool.stepped("idle", 7) == pool.target["MinCapacity"] == 0
    alarm = pool.alarms["idle"]
    assert alarm["EvaluationPeriods"] == alarm["DatapointsToAlarm"] == 15


def test_nothing_is_scaled_on_no_news_of_the_backlog(pool):
    for alarm in pool.alarms.values():
        assert alarm["TreatMissingData"] == "notBreaching"


def test_scaling_alarms_wake_nobody(pool, observed, resolve):
    [page] = observed("prod").properties("AWS::CloudWatch::CompositeAlarm")
    assert not [a for a in pool.alarms.values() if a["AlarmName"] in resolve(page["AlarmRule"])]
