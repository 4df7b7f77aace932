"""What calls a person: the alarms, the one page that they become, and the dashboard."""

from __future__ import annotations

import aws_cdk as cdk
from aws_cdk import aws_cloudwatch as cloudwatch
from aws_cdk import aws_cloudwatch_actions as actions
from aws_cdk import aws_iam as iam
from aws_cdk import aws_sns as sns
from constructs import Construct

from cdk_app.alarms import Alarms
from cdk_app.dashboard import Dashboard
from cdk_app.data_stack import DataStack
from cdk_app.function import TaskgateFunction
from cdk_app.gateway_stack import GatewayStack
from cdk_app.table_alarms import watch_conflicts, watch_stream, watch_throttles
from cdk_app.tasks_table import INDEXES
from taskgate.catalog import CATALOG
from taskgate.settings import Stage


class ObservabilityStack(cdk.Stack):
    """Holds neither data nor functions: it can be made anew at any time. Exposes `topic`."""

    def __init__(
        self,
        scope: Construct,
        name: str,
        *,
        stage: Stage,
        data: DataStack,
        gateway: GatewayStack,
        synthesizer: cdk.IStackSynthesizer | None,
    ) -> None:
        super().__init__(
            scope,
            name,
            stack_name=f"{stage.prefix}-observability",
            description="Taskgate: alarms and dashboard",
            synthesizer=synthesizer,
        )
        self.alarms = self._alarms(stage, data, gateway)
        Dashboard(
            self,
            "Dashboard",
            stage=stage,
            lanes=data.lanes,
            ephemeral=data.ephemeral.table,
            alarms=self.alarms,
        )
        self.topic = self._topic(stage)
        self._page(stage)
        cdk.CfnOutput(self, "AlertsTopic", value=self.topic.topic_arn)

    def _alarms(
        self, stage: Stage, data: DataStack, gateway: GatewayStack
    ) -> list[cloudwatch.Alarm]:
        made = Alarms(self, "Alarms", stage=stage)
        made.watch_tasks()
        made.watch_watchers()
        made.watch_outbox()
        made.watch_workers()
        for pool in CATALOG.pools:
            made.watch_dead_letters(pool, data.lanes.dead)
            made.watch_pool(pool)
        self._watch_tables(made, data, gateway)
        made.watch_speed()
        made.watch_api(gateway.http_api.api.api_id)
        for function in _functions(gateway):
            made.watch_function(function.room.replace("_", "-"), function.function)
        return made.alarms

    def _watch_tables(self, made: Alarms, data: DataStack, gateway: GatewayStack) -> None:
        tasks = data.tasks.table
        watch_throttles(made, "tasks", tasks)
        for index in INDEXES:
            watch_throttles(made, "tasks", tasks, index)
        watch_throttles(made, "ephemeral", data.ephemeral.table)
        watch_conflicts(made, tasks)
        watch_stream(made, "outbox-callback", gateway.outbox.function)
        if gateway.event_bus:
            watch_stream(made, "event-bus", gateway.event_bus.function)

    def _topic(self, stage: Stage) -> sns.Topic:
        """Subscribe people and pagers to it; who they are is not the stack's to know."""
        # Not encrypted with the AWS key for SNS, which alarms may not use; no message holds
        # anything of a user.
        topic = sns.Topic(
            self,
            "Alerts",
            topic_name=f"{stage.prefix}-alerts",
            enforce_ssl=True,
        )
        # A topic with a policy of its own has lost the default one, which let alarms in.
        topic.add_to_resource_policy(
            iam.PolicyStatement(
                principals=[iam.ServicePrincipal("cloudwatch.amazonaws.com")],
                actions=["sns:Publish"],
                resources=[topic.topic_arn],
                conditions={"StringEquals": {"aws:SourceAccount": self.account}},
            )
        )
        return topic

    def _page(self, stage: Stage) -> None:
        """One message, however many alarms one fault sets off."""
        anything = cloudwatch.AlarmRule.any_of(
            *(
                cloudwatch.AlarmRule.from_alarm(alarm, cloudwatch.AlarmState.ALARM)
                for alarm in self.alarms
            )
        )
        page = cloudwatch.CompositeAlarm(
            self,
            "Page",
            composite_alarm_name=f"{stage.prefix}-page",
            alarm_description="Something is wrong. See docs/runbook/README.md",
            alarm_rule=anything,
        )
        page.add_alarm_action(actions.SnsAction(self.topic))
        page.add_ok_action(actions.SnsAction(self.topic))


def _functions(gateway: GatewayStack) -> list[TaskgateFunction]:
    """Every function of the stack, so that a new one cannot be left unwatched."""
    return [child for child in gateway.node.find_all() if isinstance(child, TaskgateFunction)]
