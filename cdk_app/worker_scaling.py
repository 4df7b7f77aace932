"""From zero and back: as many workers as the backlog of the pool's lanes asks for.

The backlog is what the sweep counts each minute, waiting and running, so it is there when no worker
is. It is shared out over the workers that are *wanted*, not over those that run: a GPU takes minutes to
come, and dividing by what is there would ask for more of them each minute.
"""

from __future__ import annotations

from typing import Final

import aws_cdk as cdk
from aws_cdk import aws_applicationautoscaling as scaling
from aws_cdk import aws_cloudwatch as cloudwatch
from aws_cdk import aws_cloudwatch_actions as actions
from constructs import Construct

from cdk_app.measures import MINUTE, ours
from taskgate import metrics
from taskgate.capacity import PoolCapacity
from taskgate.settings import Stage

Policy = scaling.CfnScalingPolicy
Tracking = Policy.TargetTrackingScalingPolicyConfigurationProperty
Customized = Policy.CustomizedMetricSpecificationProperty
Query = Policy.TargetTrackingMetricDataQueryProperty
Stat = Policy.TargetTrackingMetricStatProperty
Tracked = Policy.TargetTrackingMetricProperty
Dimension = Policy.TargetTrackingMetricDimensionProperty

WANTED: Final = "FILL(wanted, 0)"
SHARE: Final = f"(backlog + IF(backlog > 0, {{spare}}, 0)) / IF({WANTED} > 1, {WANTED}, 1)"
"""Tasks that each wanted worker has to do; spare workers count as if they had theirs."""
FROM_ZERO: Final = f"IF(backlog > 0 AND {WANTED} < 1, 1, 0)"
"""1 when there is work, and no worker is even asked for."""
IDLE: Final = "IF(backlog > 0, 0, 1)"
COOLDOWN: Final = 60
STARTING: Final = 300
"""Seconds that the first worker is given before another step from zero."""


class WorkerScaling(Construct):
    """The scalable target and its three policies. Exposes `target`."""

    def __init__(
        self,
        scope: Construct,
        name: str,
        *,
        stage: Stage,
        pool_name: str,
        pool: PoolCapacity,
        cluster_name: str,
        service_name: str,
    ) -> None:
        super().__init__(scope, name)
        self._pool = pool
        self._backlog = ours(stage, metrics.BACKLOG, "Maximum", MINUTE, pool=pool_name)
        self._wanted = cloudwatch.Metric(
            namespace="ECS/ContainerInsights",
            metric_name="DesiredTaskCount",
            dimensions_map={"ClusterName": cluster_name, "ServiceName": service_name},
            statistic="Maximum",
            period=MINUTE,
        )
        # Without a role of ours: Application Auto Scaling has one of its own for ECS.
        self.target = scaling.CfnScalableTarget(
            self,
            "Target",
            service_namespace="ecs",
            scalable_dimension="ecs:service:DesiredCount",
            resource_id=f"service/{cluster_name}/{service_name}",
            min_capacity=pool.least,
            max_capacity=pool.most,
        )
        self._follow(f"{stage.prefix}-{pool_name}")
        self._leave_zero(f"{stage.prefix}-{pool_name}")
        self._return(f"{stage.prefix}-{pool_name}")

    def _follow(self, prefix: str) -> None:
        """So many workers that each has `backlog_each` tasks; fewer after a quarter of an hour."""
        spare = self._pool.spare * self._pool.backlog_each
        scaling.CfnScalingPolicy(
            self,
            "Follow",
            policy_name=f"{prefix}-follow",
            policy_type="TargetTrackingScaling",
            scaling_target_id=self.target.ref,
            target_tracking_scaling_policy_configuration=Tracking(
                target_value=self._pool.backlog_each,
                scale_out_cooldown=COOLDOWN,
                scale_in_cooldown=STARTING,
                customized_metric_specification=Customized(
                    metrics=[
                        Query(id="share", expression=SHARE.format(spare=spare), return_data=True),
                        _query("backlog", self._backlog),
                        _query("wanted", self._wanted),
                    ]
                ),
            ),
        )

    def _leave_zero(self, prefix: str) -> None:
        """Nothing can be shared out over no worker; this asks for the first."""
        alarm = self._alarm(
            f"{prefix}-from-zero",
            "There is work for this pool, and no worker is wanted: asks for one.",
            FROM_ZERO,
            {"backlog": self._backlog, "wanted": self._wanted},
            minutes=1,
        )
        # A step, never an exact number: it must not take back what the other policy has asked for.
        self._act(alarm, "LeaveZero", scaling.AdjustmentType.CHANGE_IN_CAPACITY, 1, STARTING)

    def _return(self, prefix: str) -> None:
        """Long without work: back to the least, at once."""
        alarm = self._alarm(
            f"{prefix}-idle",
            "This pool has had nothing to do: it goes back to its least.",
            IDLE,
            {"backlog": self._backlog},
            minutes=self._pool.idle_minutes,
        )
        least = self._pool.least
        self._act(alarm, "Return", scaling.AdjustmentType.EXACT_CAPACITY, least, COOLDOWN)

    def _alarm(
        self,
        alarm_name: str,
        what: str,
        expression: str,
        used: dict[str, cloudwatch.IMetric],
        minutes: int,
    ) -> cloudwatch.Alarm:
        return cloudwatch.Alarm(
            self,
            alarm_name.rsplit("-", 1)[-1],
            alarm_name=alarm_name,
            alarm_description=f"{what} Part of scaling: nobody need do anything.",
            metric=cloudwatch.MathExpression(
                expression=expression, using_metrics=used, period=MINUTE, label="yes"
            ),
            threshold=0,
            comparison_operator=cloudwatch.ComparisonOperator.GREATER_THAN_THRESHOLD,
            evaluation_periods=minutes,
            datapoints_to_alarm=minutes,
            # Without the sweep nothing is known of the backlog: everything stays as it is.
            treat_missing_data=cloudwatch.TreatMissingData.NOT_BREACHING,
        )

    def _act(
        self,
        alarm: cloudwatch.Alarm,
        name: str,
        kind: scaling.AdjustmentType,
        workers: int,
        cooldown: int,
    ) -> None:
        target = scaling.ScalableTarget.from_scalable_target_attributes(
            self,
            f"{name}Of",
            scalable_target_id=self.target.ref,
            scalable_dimension=self.target.scalable_dimension,
            service_namespace=self.target.service_namespace,
        )
        action = scaling.StepScalingAction(
            self,
            name,
            scaling_target=target,
            adjustment_type=kind,
            cooldown=cdk.Duration.seconds(cooldown),
            metric_aggregation_type=scaling.MetricAggregationType.MAXIMUM,
        )
        action.add_adjustment(adjustment=workers, lower_bound=0)
        alarm.add_alarm_action(actions.ApplicationScalingAction(action))


def _query(name: str, metric: cloudwatch.Metric) -> Query:
    return Query(
        id=name,
        return_data=False,
        metric_stat=Stat(
            stat=metric.statistic,
            metric=Tracked(
                namespace=metric.namespace,
                metric_name=metric.metric_name,
                dimensions=[
                    Dimension(name=name, value=value)
                    for name, value in (metric.dimensions or {}).items()
                ],
            ),
        ),
    )
