"""The GPU workers: a network, a cluster, and one service for each pool that is run here."""

from __future__ import annotations

import aws_cdk as cdk
from aws_cdk import aws_ecs as ecs
from constructs import Construct

from cdk_app.data_stack import DataStack
from cdk_app.worker_network import WorkerNetwork
from cdk_app.worker_service import WorkerService
from taskgate.capacity import Host
from taskgate.catalog import CATALOG
from taskgate.errors import BadSetting
from taskgate.settings import Stage


class WorkersStack(cdk.Stack):
    """Holds no data: deleted and made anew, it costs running tasks an interruption.

    Exposes `services` by pool.
    """

    def __init__(
        self,
        scope: Construct,
        name: str,
        *,
        stage: Stage,
        data: DataStack,
        synthesizer: cdk.IStackSynthesizer | None,
    ) -> None:
        super().__init__(
            scope,
            name,
            stack_name=f"{stage.prefix}-workers",
            description="Taskgate: GPU workers",
            synthesizer=synthesizer,
        )
        self._zones = stage.workers.zones
        if unknown := sorted(set(stage.workers.pools) - set(CATALOG.pools)):
            raise BadSetting("workers.pools", unknown, "of " + ", ".join(CATALOG.pools))
        network = WorkerNetwork(self, "Network", stage=stage)
        cluster = self._cluster(stage, network)
        self.services = {
            pool_name: WorkerService(
                self,
                f"{pool_name}-pool",
                stage=stage,
                data=data,
                pool_name=pool_name,
                pool=pool,
                network=network,
                cluster=cluster,
            )
            for pool_name, pool in stage.workers.hosted.items()
        }
        cdk.CfnOutput(self, "ClusterName", value=cluster.cluster_name)

    @property
    def availability_zones(self) -> list[str]:
        """The Region's first ones, named at deploy: CDK would look them up at synth."""
        return [cdk.Fn.select(index, cdk.Fn.get_azs()) for index in range(self._zones)]

    def _cluster(self, stage: Stage, network: WorkerNetwork) -> ecs.Cluster:
        return ecs.Cluster(
            self,
            "Cluster",
            cluster_name=f"{stage.prefix}-workers",
            vpc=network.vpc,
            # How many workers are wanted is a metric of this; scaling needs it.
            container_insights_v2=ecs.ContainerInsights.ENABLED,
            enable_fargate_capacity_providers=any(
                pool.host is Host.FARGATE for pool in stage.workers.hosted.values()
            ),
        )
