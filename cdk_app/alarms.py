"""The alarms. Each has a page in the runbook, and a word on what silence means to it.

Silence is chosen alarm by alarm: what must be heard from is breaching when it is silent, what counts
mishaps is not, and what is published with each run keeps its last word until the next. Where silence is
breaching, a new alarm waits for the first word: a stage that was just deployed pages nobody.
"""

from __future__ import annotations

from typing import Any, cast

from aws_cdk import aws_cloudwatch as cloudwatch
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_sqs as sqs
from constructs import Construct

from cdk_app.measures import FIVE_MINUTES, HOUR, MINUTE, QUARTER, added_up, ours
from taskgate import metrics
from taskgate.settings import PRIORITIES, Stage

RUNBOOK = "docs/runbook"
OVERDUE_SECONDS = 120
SERVER_ERROR_PERCENT = 1
OWED_SECONDS = 300
SLOW_MILLISECONDS = 3000
CRASH_PERCENT = 20
CRASHES_AT_LEAST = 3
UNATTENDED_MINUTES = 15

MISHAP = cloudwatch.TreatMissingData.NOT_BREACHING
HEARTBEAT = cloudwatch.TreatMissingData.BREACHING
LAST_WORD = cloudwatch.TreatMissingData.IGNORE
ABOVE = cloudwatch.ComparisonOperator.GREATER_THAN_THRESHOLD
BELOW = cloudwatch.ComparisonOperator.LESS_THAN_THRESHOLD


class Alarms(Construct):
    """All alarms of a stage. Exposes `alarms`."""

    def __init__(self, scope: Construct, name: str, *, stage: Stage) -> None:
        super().__init__(scope, name)
        self._stage = stage
        self.alarms: list[cloudwatch.Alarm] = []

    def watch_tasks(self) -> None:
        """Stuck tasks, overdue clocks, and the books."""
        self.add(
            "stuck",
            "Tasks stayed stalled over two sweeps: neither their worker nor the sweep helps them.",
            ours(self._stage, metrics.STUCK, "Maximum", MINUTE),
            silence=LAST_WORD,
            periods=2,
        )
        self.add(
            "overdue",
            f"A task's clock is overdue by more than {OVERDUE_SECONDS} s: the sweep cannot keep up.",
            ours(self._stage, metrics.OLDEST_OVERDUE, "Maximum", MINUTE),
            silence=LAST_WORD,
            threshold=OVERDUE_SECONDS,
            periods=5,
            datapoints=3,
        )
        self.add(
            "unaccounted",
            "The hourly check found tasks that are not accounted for.",
            ours(self._stage, metrics.UNACCOUNTED, "Maximum", HOUR),
            silence=LAST_WORD,
        )

    def watch_watchers(self) -> None:
        """Dead-man's switches: a healthy run says so, and these hear when it does not."""
        self.add(
            "sweep-silent",
            "The stale sweep has not run for two minutes: nothing notices dead workers any more.",
            ours(self._stage, metrics.SWEEP_RAN, "Sum", MINUTE),
            silence=HEARTBEAT,
            threshold=1,
            operator=BELOW,
            periods=2,
        )
        self.add(
            "reconcile-silent",
            "The hourly check has not come to its end for two hours.",
            ours(self._stage, metrics.RECONCILE_RAN, "Sum", HOUR),
            silence=HEARTBEAT,
            threshold=1,
            operator=BELOW,
            periods=2,
        )

    def watch_dead_letters(self, pool: str, dead: dict[str, sqs.Queue]) -> None:
        """What the dead-letter function answered, and what it leaves lying."""
        self.add(
            f"dead-letters-{pool}",
            f"Messages of pool {pool} were given up by their lane.",
            ours(self._stage, metrics.DEAD_LETTERS, "Sum", FIVE_MINUTES, pool=pool),
            silence=MISHAP,
            page="dead-letters",
        )
        waiting = {
            priority: dead[f"{pool}-{priority}"].metric_approximate_number_of_messages_visible(
                statistic="Maximum", period=MINUTE
            )
            for priority in PRIORITIES
        }
        self.add(
            f"dead-letters-waiting-{pool}",
            f"Dead letters of pool {pool} wait: the dead-letter function does not answer them.",
            added_up(waiting, MINUTE, "waiting"),
            silence=MISHAP,
            periods=5,
            page="dead-letters-waiting",
        )

    def watch_pool(self, pool: str) -> None:
        """Work that nobody does: the queues know it, whatever the workers run on."""
        self.add(
            f"no-worker-{pool}",
            f"Tasks of pool {pool} wait, and for {UNATTENDED_MINUTES} minutes no worker has held any.",
            ours(self._stage, metrics.UNATTENDED, "Minimum", MINUTE, pool=pool),
            silence=LAST_WORD,
            periods=UNATTENDED_MINUTES,
            page="no-worker",
        )

    def watch_workers(self) -> None:
        """The share of runs whose process was lost; a single one is everyday life."""
        crashes, runs = (
            ours(self._stage, metrics.CRASHES, statistic, QUARTER)
            for statistic in ("Sum", "SampleCount")
        )
        self.add(
            "worker-crashes",
            f"More than {CRASH_PERCENT} % of runs lost their process, and {CRASHES_AT_LEAST} at least.",
            cloudwatch.MathExpression(
                expression=f"IF(crashes >= {CRASHES_AT_LEAST}, 100 * crashes / runs, 0)",
                using_metrics={"crashes": crashes, "runs": runs},
                label="lost runs, percent",
                period=QUARTER,
            ),
            silence=MISHAP,
            threshold=CRASH_PERCENT,
        )

    def watch_outbox(self) -> None:
        """Debts of ended tasks, and the backstop that looks at them."""
        self.add(
            "outbox-late",
            f"What an ended task owes is late by more than {OWED_SECONDS} s, or nobody looks.",
            ours(self._stage, metrics.OLDEST_OWED, "Maximum", MINUTE),
            silence=HEARTBEAT,
            threshold=OWED_SECONDS,
            periods=5,
            datapoints=3,
        )

    def watch_speed(self) -> None:
        """How long answers take whose callers did not ask for them to be held back."""
        self.add(
            "api-slow",
            f"One request in a hundred takes more than {SLOW_MILLISECONDS} ms.",
            ours(self._stage, metrics.API_TIME, "p99", FIVE_MINUTES),
            silence=MISHAP,
            threshold=SLOW_MILLISECONDS,
            periods=3,
            datapoints=2,
        )

    def watch_api(self, api_id: str) -> None:
        """The share of requests that the gateway could not serve."""
        errors, requests = (
            cloudwatch.Metric(
                namespace="AWS/ApiGateway",
                metric_name=name,
                dimensions_map={"ApiId": api_id},
                statistic=statistic,
                period=MINUTE,
            )
            for name, statistic in (("5xx", "Sum"), ("Count", "SampleCount"))
        )
        self.add(
            "api-errors",
            f"More than {SERVER_ERROR_PERCENT} % of requests are answered with 5xx.",
            cloudwatch.MathExpression(
                expression="IF(requests > 0, 100 * errors / requests, 0)",
                using_metrics={"errors": errors, "requests": requests},
                label="5xx, percent",
                period=MINUTE,
            ),
            silence=MISHAP,
            threshold=SERVER_ERROR_PERCENT,
            periods=5,
            datapoints=3,
        )

    def watch_function(self, room: str, function: lambda_.Function) -> None:
        """A function that fails or is refused its place."""
        parts = {
            "errors": function.metric_errors(statistic="Sum", period=FIVE_MINUTES),
            "throttles": function.metric_throttles(statistic="Sum", period=FIVE_MINUTES),
        }
        self.add(
            f"function-{room}",
            f"The function {room} failed or was throttled.",
            added_up(parts, FIVE_MINUTES, "errors and throttles"),
            silence=MISHAP,
            page="function-errors",
        )

    def add(
        self,
        name: str,
        what: str,
        metric: cloudwatch.IMetric,
        *,
        silence: cloudwatch.TreatMissingData,
        threshold: int = 0,
        operator: cloudwatch.ComparisonOperator = ABOVE,
        periods: int = 1,
        datapoints: int | None = None,
        page: str | None = None,
    ) -> None:
        """One alarm; its page in the runbook is its name, or `page`."""
        arguments: dict[str, Any] = {
            "alarm_name": f"{self._stage.prefix}-{name}",
            "alarm_description": f"{what} See {RUNBOOK}/{page or name}.md",
            "metric": metric,
            "treat_missing_data": silence,
            "threshold": threshold,
            "comparison_operator": operator,
            "evaluation_periods": periods,
            "datapoints_to_alarm": datapoints or periods,
        }
        alarm = cloudwatch.Alarm(self, name, **arguments)
        if silence is HEARTBEAT:
            _warm_up(alarm, metric, periods)
        self.alarms.append(alarm)


def _warm_up(alarm: cloudwatch.Alarm, metric: cloudwatch.IMetric, periods: int) -> None:
    """Until its window can be full, and one period for the first run to come.

    It ends early, as soon as the window is full.
    """
    period = cast("cloudwatch.Metric", metric).period.to_minutes()
    cast(
        "cloudwatch.CfnAlarm", alarm.node.default_child
    ).warm_up_configuration = cloudwatch.CfnAlarm.WarmUpConfigurationProperty(
        warm_up_period_duration_in_minutes=int(period * (periods + 1))
    )
