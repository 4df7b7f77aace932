"""One deployment of Taskgate: the stacks of a stage, wired."""

from __future__ import annotations

import aws_cdk as cdk
from aws_cdk import aws_lambda as lambda_
from constructs import Construct

from cdk_app import target
from cdk_app.bundle import Bundle
from cdk_app.data_stack import DataStack
from cdk_app.function import FunctionCode
from cdk_app.gateway_stack import GatewayStack
from cdk_app.observability_stack import ObservabilityStack
from cdk_app.workers_stack import WorkersStack
from taskgate.settings import Stage

# The emulator's bucket for assets. A real account has the one that `cdk bootstrap` makes.
EMULATOR_ASSETS = "taskgate-emulator-assets"


class Deployment(cdk.Stage):
    """The stacks of one stage. Exposes `data`, `gateway` and, on AWS, `workers` and `observability`."""

    def __init__(
        self,
        scope: Construct,
        name: str,
        *,
        stage: Stage,
        bundle: Bundle,
        env: cdk.Environment | None = None,
    ) -> None:
        super().__init__(scope, name, env=env)
        # A stage's own code sees one asset: all functions share the bundle.
        code = FunctionCode(
            lambda_.Code.from_asset(str(bundle.folder), asset_hash=bundle.hash), target.of(stage)
        )
        self.data = DataStack(self, "Data", stage=stage, synthesizer=_synthesizer(stage))
        self.gateway = GatewayStack(
            self,
            "Gateway",
            stage=stage,
            data=self.data,
            code=code,
            synthesizer=_synthesizer(stage),
        )
        self.workers = self._workers(stage)
        self.observability = self._observability(stage)
        cdk.Tags.of(self).add("taskgate:stage", stage.name)
        cdk.Tags.of(self).add("taskgate:cell", stage.cell)

    def _workers(self, stage: Stage) -> WorkersStack | None:
        """Not locally, where workers are processes, nor where all of them are elsewhere."""
        if not stage.workers.hosted:
            return None
        return WorkersStack(
            self, "Workers", stage=stage, data=self.data, synthesizer=_synthesizer(stage)
        )

    def _observability(self, stage: Stage) -> ObservabilityStack | None:
        """Not on the emulator: it has neither metric math nor composite alarms, and reads no metric
        out of a log, so that no alarm there could ever speak.
        """
        if stage.emulator:
            return None
        return ObservabilityStack(
            self,
            "Observability",
            stage=stage,
            data=self.data,
            gateway=self.gateway,
            synthesizer=_synthesizer(stage),
        )


def _synthesizer(stage: Stage) -> cdk.IStackSynthesizer | None:
    """The emulator is deployed to without `cdk bootstrap`, which would double the wait."""
    if not stage.emulator:
        return None
    return cdk.CliCredentialsStackSynthesizer(file_assets_bucket_name=EMULATOR_ASSETS)
