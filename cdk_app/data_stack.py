"""What must survive: the tables, the bucket and the lanes."""

from __future__ import annotations

import json

import aws_cdk as cdk
from constructs import Construct

from cdk_app.ephemeral_table import EphemeralTable
from cdk_app.errands import Errands
from cdk_app.lanes import Lanes
from cdk_app.results_bucket import ResultsBucket
from cdk_app.tasks_table import TasksTable
from cdk_app.webhook_master import WebhookMaster
from taskgate.catalog import CATALOG
from taskgate.issuer import UNSET
from taskgate.settings import OFF, Environment, Stage


class DataStack(cdk.Stack):
    """Records, ephemera, bytes and lanes; wires nothing but these."""

    def __init__(
        self,
        scope: Construct,
        name: str,
        *,
        stage: Stage,
        synthesizer: cdk.IStackSynthesizer | None,
    ) -> None:
        super().__init__(
            scope,
            name,
            stack_name=f"{stage.prefix}-data",
            description="Taskgate: tables, results and lanes",
            termination_protection=stage.retain_data,
            synthesizer=synthesizer,
        )
        self.tasks = TasksTable(self, "Tasks", stage=stage)
        self.ephemeral = EphemeralTable(self, "Ephemeral", stage=stage)
        self.results = ResultsBucket(self, "Results", stage=stage)
        self.lanes = Lanes(self, "Lanes", stage=stage, lanes=CATALOG.lanes())
        self.errands = Errands(self, "Errands", stage=stage)
        self.webhook_master = WebhookMaster(self, "WebhookMaster", stage=stage)
        self.environment_contract = self._environment(stage)
        cdk.CfnOutput(
            self,
            "Environment",
            description="The environment of every function and worker, as one JSON object",
            value=json.dumps(self.environment_contract.as_variables(), sort_keys=True),
        )

    def _environment(self, stage: Stage) -> Environment:
        return Environment(
            stage=stage.name,
            tasks_table=self.tasks.table.table_name,
            ephemeral_table=self.ephemeral.table.table_name,
            results_bucket=self.results.bucket.bucket_name,
            lanes=self.lanes.urls,
            clock_shards=stage.clock_shards,
            beat=stage.timing.beat,
            lease=stage.timing.lease,
            send_check=stage.timing.send_check,
            stall_grace=stage.timing.stall_grace,
            cancel_grace=stage.timing.cancel_grace,
            cell=stage.cell,
            errands=self.errands.queue.queue_url,
            webhook_master=self.webhook_master.name,
            webhook_versions=stage.webhook_versions,
            trusted_issuer=str(stage.trusted_issuer or UNSET),
            event_bus=stage.event_bus_name,
            otlp_endpoint=stage.otlp_endpoint or OFF,
            result_days=stage.result_days,
            record_days=stage.record_days,
            lane_limit=stage.lane_limit,
            salvage_seconds=stage.salvage_hours * 3600,
            upload_days=stage.upload_days,
            upload_bytes=stage.upload_bytes,
        )
