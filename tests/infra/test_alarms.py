"""Every alarm watches something that is measured, knows what silence means, and has a page."""

from __future__ import annotations

import re

import pytest

from cdk_app.bundle import ROOT
from taskgate import metrics
from taskgate.catalog import CATALOG
from taskgate.settings import STAGES, stage

# Read where it is used: the stacks' modules start jsii.
INDEXES = ("by_user", "by_clock", "by_problem")
ALARM, COMPOSITE = "AWS::CloudWatch::Alarm", "AWS::CloudWatch::CompositeAlarm"
SILENCE = {
    "stuck": "ignore",
    "overdue": "ignore",
    "unaccounted": "ignore",
    "sweep-silent": "breaching",
    "reconcile-silent": "breaching",
    "dead-letters": "notBreaching",
    "dead-letters-waiting": "notBreaching",
    "api-errors": "notBreaching",
    "function": "notBreaching",
    "outbox-late": "breaching",
    "worker-crashes": "notBreaching",
    "no-worker": "ignore",
    "api-slow": "notBreaching",
    "throttled": "notBreaching",
    "conflicts": "notBreaching",
    "stream-late": "notBreaching",
}
"""What each kind of alarm makes of missing data; a new kind has to choose here."""
ON_AWS = [name for name in STAGES if not stage(name).emulator]
OURS = {name for found in metrics.METRICS.values() for metric in found for name in (metric.name,)}


@pytest.fixture(scope="module")
def alarms(observed) -> dict[str, dict]:
    """Prod's alarms by their name without the prefix."""
    prefix = f"{stage('prod').prefix}-"
    found = observed("prod").properties(ALARM)
    return {properties["AlarmName"].removeprefix(prefix): properties for properties in found}


def kind_of(name: str) -> str:
    return max((kind for kind in SILENCE if name.startswith(kind)), key=len)


def test_there_is_an_alarm_for_each_thing_that_a_person_must_know(alarms, gateway):
    pools = {f"dead-letters-{pool}" for pool in CATALOG.pools}
    pools |= {f"dead-letters-waiting-{pool}" for pool in CATALOG.pools}
    rooms = {
        f["Handler"].split(".")[1].replace("_", "-")
        for f in gateway.properties("AWS::Lambda::Function")
    }
    pools |= {f"no-worker-{pool}" for pool in CATALOG.pools}
    fixed = {"stuck", "overdue", "unaccounted", "sweep-silent", "reconcile-silent", "api-errors"}
    fixed |= {"outbox-late", "worker-crashes", "api-slow", "conflicts"}
    fixed |= {"stream-late-outbox-callback"}
    fixed |= {f"throttled-{index.replace('_', '-')}" for index in INDEXES}
    fixed |= {"throttled-tasks", "throttled-ephemeral"}
    assert set(alarms) == fixed | pools | {f"function-{room}" for room in rooms}


def test_every_alarm_has_chosen_what_silence_means(alarms):
    for name, alarm in alarms.items():
        assert alarm["TreatMissingData"] == SILENCE[kind_of(name)], name


@pytest.mark.parametrize("name", ON_AWS)
def test_a_stage_that_was_just_deployed_pages_nobody_until_its_first_runs_could_speak(
    observed, name
):
    warm = {
        alarm["AlarmName"]: alarm["WarmUpConfiguration"]["WarmUpPeriodDurationInMinutes"]
        for alarm in observed(name).properties(ALARM)
        if "WarmUpConfiguration" in alarm
    }
    breaching = [
        a for a in observed(name).properties(ALARM) if a["TreatMissingData"] == "breaching"
    ]
    assert len(breaching) == len(warm) == 3
    for alarm in breaching:
        window = alarm["EvaluationPeriods"] * alarm["Period"]
        # One run more than the window holds, and no more: a sweep that never began is known soon.
        assert warm[alarm["AlarmName"]] * 60 == window + alarm["Period"]


def test_every_alarm_leads_to_a_page_of_the_runbook_that_is_there(alarms):
    for name, alarm in alarms.items():
        page = re.search(r"See (docs/runbook/[a-z-]+\.md)$", alarm["AlarmDescription"])
        assert page, name
        assert (ROOT / page[1]).is_file(), page[1]


def test_every_metric_of_ours_that_an_alarm_watches_is_one_that_an_event_writes(alarms):
    watched = {a["MetricName"] for a in alarms.values() if a.get("Namespace") == "Taskgate"}
    assert watched
    assert watched <= OURS


def test_our_alarms_look_at_their_own_deployment_and_at_no_tenant(alarms):
    for alarm in alarms.values():
        if alarm.get("Namespace") == "Taskgate":
            labels = {d["Name"]: d["Value"] for d in alarm["Dimensions"]}
            assert labels.items() >= stage("prod").labels.items()
            assert set(labels) <= {"stage", "cell", "pool", "type"}


def test_a_task_counts_as_stuck_only_when_two_sweeps_in_a_row_left_it_so(alarms):
    alarm = alarms["stuck"]
    assert (alarm["EvaluationPeriods"], alarm["DatapointsToAlarm"]) == (2, 2)
    assert (alarm["Threshold"], alarm["ComparisonOperator"]) == (0, "GreaterThanThreshold")


@pytest.mark.parametrize("name", ON_AWS)
def test_an_alarm_looks_at_stuck_tasks_as_often_as_the_sweep_counts_them(observed, name):
    timing = stage(name).timing
    for alarm in observed(name).properties(ALARM):
        if alarm.get("MetricName") in {metrics.STUCK, metrics.SWEEP_RAN, metrics.OLDEST_OVERDUE}:
            assert alarm["Period"] == timing.sweep_every
            # Threshold and period together are what the docs promise.
            assert timing.lease + alarm["Period"] <= timing.detected_within


def test_a_sweep_that_stopped_is_known_within_two_of_its_periods(alarms):
    alarm = alarms["sweep-silent"]
    assert (alarm["Threshold"], alarm["ComparisonOperator"]) == (1, "LessThanThreshold")
    assert alarm["Period"] * alarm["EvaluationPeriods"] == 2 * stage("prod").timing.sweep_every
    assert alarm["Statistic"] == "Sum"


def test_one_late_sweep_wakes_nobody_but_three_of_five_do(alarms):
    alarm = alarms["overdue"]
    assert (alarm["DatapointsToAlarm"], alarm["EvaluationPeriods"]) == (3, 5)
    assert alarm["Threshold"] == 120


def test_one_fault_is_one_message_and_every_alarm_is_part_of_it(observed, resolve):
    template = observed("prod")
    [page] = template.properties(COMPOSITE)
    rule = resolve(page["AlarmRule"])
    assert rule.count("ALARM(") == len(template.of_type(ALARM))
    [topic] = template.of_type("AWS::SNS::Topic")
    assert resolve(page["AlarmActions"]) == [f"<{topic}>"]
    assert not [a for a in template.properties(ALARM) if a.get("AlarmActions")]


def test_alarms_may_publish_to_their_topic_and_nobody_may_without_tls(observed):
    [policy] = observed("prod").properties("AWS::SNS::TopicPolicy")
    allowed, denied = (
        [s for s in policy["PolicyDocument"]["Statement"] if s["Effect"] == effect]
        for effect in ("Allow", "Deny")
    )
    assert [s["Principal"] for s in allowed] == [{"Service": "cloudwatch.amazonaws.com"}]
    assert [s["Condition"] for s in denied] == [{"Bool": {"aws:SecureTransport": "false"}}]


@pytest.mark.parametrize("name", ON_AWS)
def test_every_alarm_bears_its_stage_in_a_name_that_is_not_too_long(observed, name):
    template = observed(name)
    names = [alarm["AlarmName"] for alarm in template.properties(ALARM)]
    names += [alarm["AlarmName"] for alarm in template.properties(COMPOSITE)]
    assert all(n.startswith(stage(name).prefix) and len(n) <= 255 for n in names)
    assert len(set(names)) == len(names) > 10


def test_the_dashboard_shows_what_is_measured(observed, resolve):
    [dashboard] = observed("prod").properties("AWS::CloudWatch::Dashboard")
    body = resolve(dashboard["DashboardBody"])
    for name in OURS - {metrics.RECONCILE_RAN, metrics.REPAIRS}:
        assert name in body
    # Pulses go by the table's TTL, and DynamoDB counts them.
    assert "TimeToLiveDeletedItemCount" in body


def test_work_that_nobody_does_calls_somebody_and_a_short_gap_does_not(alarms):
    for pool in CATALOG.pools:
        alarm = alarms[f"no-worker-{pool}"]
        assert {d["Name"]: d["Value"] for d in alarm["Dimensions"]} == {
            **stage("prod").labels,
            "pool": pool,
        }
        # Every minute of a quarter of an hour: a GPU needs some of them to come.
        assert (alarm["Statistic"], alarm["Period"]) == ("Minimum", 60)
        assert alarm["EvaluationPeriods"] == alarm["DatapointsToAlarm"] == 15


def test_an_outbox_that_nobody_wakes_is_as_bad_as_a_late_one(alarms):
    alarm = alarms["outbox-late"]
    assert (alarm["TreatMissingData"], alarm["Threshold"]) == ("breaching", 300)
    assert (alarm["DatapointsToAlarm"], alarm["EvaluationPeriods"]) == (3, 5)


def test_each_index_has_an_alarm_that_names_it(alarms):
    for index in INDEXES:
        metrics_of = alarms[f"throttled-{index.replace('_', '-')}"]["Metrics"]
        named = {
            d["Value"]
            for m in metrics_of
            if "MetricStat" in m
            for d in m["MetricStat"]["Metric"]["Dimensions"]
            if d["Name"] == "GlobalSecondaryIndexName"
        }
        assert named == {index}


def test_one_lost_worker_wakes_nobody_and_a_quarter_of_all_runs_does(alarms):
    alarm = alarms["worker-crashes"]
    [share] = [m["Expression"] for m in alarm["Metrics"] if m["ReturnData"]]
    assert share == "IF(crashes >= 3, 100 * crashes / runs, 0)"
    assert alarm["Threshold"] == 20


def test_the_page_of_all_alarms_stays_within_what_cloudwatch_takes(observed, resolve):
    [page] = observed("prod").properties(COMPOSITE)
    rule = resolve(page["AlarmRule"])
    assert rule.count("ALARM(") <= 100
    longest_arn = 20 + 120 + max(len(a["AlarmName"]) for a in observed("prod").properties(ALARM))
    assert rule.count("ALARM(") * longest_arn <= 10_240


def test_every_page_of_the_runbook_is_one_that_its_index_knows():
    index = (ROOT / "docs/runbook/README.md").read_text()
    pages = {p.name for p in (ROOT / "docs/runbook").glob("*.md")} - {"README.md"}
    assert {p for p in pages if f"({p})" not in index} == set()
