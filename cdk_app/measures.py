"""CloudWatch's view of what the code measures: the names are the code's own."""

from __future__ import annotations

from collections.abc import Mapping

import aws_cdk as cdk
from aws_cdk import aws_cloudwatch as cloudwatch

from taskgate.metrics import NAMESPACE
from taskgate.settings import Stage

MINUTE = cdk.Duration.minutes(1)
FIVE_MINUTES = cdk.Duration.minutes(5)
QUARTER = cdk.Duration.minutes(15)
HOUR = cdk.Duration.hours(1)


def ours(
    stage: Stage, name: str, statistic: str, period: cdk.Duration, **label: str
) -> cloudwatch.Metric:
    """One of our own metrics; `label` is a pool or a type, or nothing for all of them."""
    return cloudwatch.Metric(
        namespace=NAMESPACE,
        metric_name=name,
        dimensions_map={**stage.labels, **label},
        statistic=statistic,
        period=period,
    )


def added_up(
    parts: Mapping[str, cloudwatch.IMetric], period: cdk.Duration, label: str
) -> cloudwatch.MathExpression:
    """The sum of several metrics, each counted as 0 while it is silent."""
    return cloudwatch.MathExpression(
        expression=" + ".join(f"FILL({name}, 0)" for name in parts),
        using_metrics=dict(parts),
        label=label,
        period=period,
    )
