"""One page that answers: does every task move, and what does it cost when one does not?"""

from __future__ import annotations

from collections.abc import Sequence

from aws_cdk import aws_cloudwatch as cloudwatch
from aws_cdk import aws_dynamodb as dynamodb
from constructs import Construct

from cdk_app.lanes import Lanes
from cdk_app.measures import MINUTE, ours
from taskgate import metrics
from taskgate.catalog import CATALOG
from taskgate.settings import Stage


class Dashboard(Construct):
    """The dashboard of a stage."""

    def __init__(
        self,
        scope: Construct,
        name: str,
        *,
        stage: Stage,
        lanes: Lanes,
        ephemeral: dynamodb.ITable,
        alarms: Sequence[cloudwatch.Alarm],
    ) -> None:
        super().__init__(scope, name)
        self._stage = stage
        cloudwatch.Dashboard(
            self,
            "Page",
            dashboard_name=stage.prefix,
            widgets=[
                [cloudwatch.AlarmStatusWidget(title="Alarms", alarms=list(alarms), width=24)],
                *self._progress(lanes),
                *self._trouble(),
                self._afterwards(ephemeral),
            ],
        )

    def _progress(self, lanes: Lanes) -> list[list[cloudwatch.IWidget]]:
        return [
            [
                self._graph("Executing tasks", (metrics.EXECUTING_COUNT, "Sum")),
                self._graph(
                    "How long they have run, s",
                    (metrics.EXECUTING_DURATION, "p50"),
                    (metrics.EXECUTING_DURATION, "p95"),
                    (metrics.EXECUTING_DURATION, "Maximum"),
                ),
                self._graph("Stalled tasks", (metrics.STUCK, "Maximum")),
            ],
            [
                self._graph(
                    "Wait in the lane, s", (metrics.QUEUE_WAIT, "p50"), (metrics.QUEUE_WAIT, "p95")
                ),
                _waiting(lanes),
                self._graph(
                    "Run time, s", (metrics.RUN_DURATION, "p50"), (metrics.RUN_DURATION, "p95")
                ),
            ],
        ]

    def _trouble(self) -> list[list[cloudwatch.IWidget]]:
        return [
            [
                self._graph("Wasted GPU time, s", (metrics.WASTED, "Sum")),
                self._graph("Retries", (metrics.RETRIES, "Sum")),
                self._graph("Dead letters", (metrics.DEAD_LETTERS, "Sum")),
            ],
            [
                self._graph(
                    "Cancels that no worker acknowledged, and enforced ones",
                    (metrics.CANCELS_UNHEARD, "Sum"),
                    (metrics.CANCELS_ENFORCED, "Sum"),
                ),
                self._pools(),
                self._graph(
                    "Late results that were kept, and used again",
                    (metrics.SALVAGED, "Sum"),
                    (metrics.REUSED, "Sum"),
                ),
            ],
            [
                self._graph("Oldest overdue clock, s", (metrics.OLDEST_OVERDUE, "Maximum")),
                self._graph(
                    "The sweep", (metrics.SWEEP_RAN, "Sum"), (metrics.TASKS_LOOKED_AT, "Sum")
                ),
                self._graph("Oldest debt of an ended task, s", (metrics.OLDEST_OWED, "Maximum")),
                self._graph(
                    "API, ms (not held back)", (metrics.API_TIME, "p50"), (metrics.API_TIME, "p99")
                ),
                self._graph("Runs that lost their process", (metrics.CRASHES, "Sum")),
                self._graph("Unaccounted tasks", (metrics.UNACCOUNTED, "Maximum")),
            ],
        ]

    def _afterwards(self, ephemeral: dynamodb.ITable) -> list[cloudwatch.IWidget]:
        """What ended tasks owe: callbacks that do not get through, and what is cleaned up."""
        expired = ephemeral.metric(
            "TimeToLiveDeletedItemCount",
            statistic="Sum",
            period=MINUTE,
            label="pulses and the like",
        )
        return [
            self._graph("Receivers that went out of reach", (metrics.RECEIVERS_OPENED, "Sum")),
            self._graph("Callbacks given up", (metrics.CALLBACKS_GIVEN_UP, "Sum")),
            self._graph("Cleaned up", (metrics.CLEANED, "Sum"), more=[expired]),
        ]

    def _pools(self) -> cloudwatch.GraphWidget:
        left = [
            ours(self._stage, name, "Maximum", MINUTE, pool=pool).with_(label=f"{pool}: {what}")
            for pool in CATALOG.pools
            for name, what in (
                (metrics.BACKLOG, "unfinished"),
                (metrics.WAITING, "waiting"),
                (metrics.UNATTENDED, "unattended"),
            )
        ]
        return cloudwatch.GraphWidget(title="Backlog of the pools", left=left, width=8)

    def _graph(
        self, title: str, *lines: tuple[str, str], more: Sequence[cloudwatch.IMetric] = ()
    ) -> cloudwatch.GraphWidget:
        left: list[cloudwatch.IMetric] = [
            ours(self._stage, name, statistic, MINUTE).with_(label=f"{name} {statistic}")
            for name, statistic in lines
        ]
        return cloudwatch.GraphWidget(title=title, left=[*left, *more], width=8)


def _waiting(lanes: Lanes) -> cloudwatch.GraphWidget:
    left = [
        queue.metric_approximate_number_of_messages_visible(
            statistic="Maximum", period=MINUTE, label=lane
        )
        for lane, queue in lanes.queues.items()
    ]
    return cloudwatch.GraphWidget(title="Messages waiting", left=left, width=8)
