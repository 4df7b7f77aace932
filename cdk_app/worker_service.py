"""The ECS service of a pool: so many workers as there is work for, replaced without losing a task."""

from __future__ import annotations

from typing import Final

from aws_cdk import aws_ecs as ecs
from constructs import Construct

from cdk_app.auto_scaled_hosts import AutoScaledHosts
from cdk_app.data_stack import DataStack
from cdk_app.managed_hosts import ManagedHosts
from cdk_app.worker_network import WorkerNetwork
from cdk_app.worker_scaling import WorkerScaling
from cdk_app.worker_task import WorkerTask
from taskgate.capacity import Host, PoolCapacity
from taskgate.settings import Stage

HEALTHY: Final = (50, 200)
"""Percent of the workers during a deployment. One worker must be able to move: 50 % of 1 is 1, so
there must be room for a second."""


class WorkerService(Construct):
    """Exposes `service`, `task` and `scaling`."""

    def __init__(
        self,
        scope: Construct,
        name: str,
        *,
        stage: Stage,
        data: DataStack,
        pool_name: str,
        pool: PoolCapacity,
        network: WorkerNetwork,
        cluster: ecs.Cluster,
    ) -> None:
        super().__init__(scope, name)
        self.task = WorkerTask(
            self,
            "Task",
            stage=stage,
            data=data,
            pool_name=pool_name,
            pool=pool,
            cluster_name=cluster.cluster_name,
        )
        provider = self._provider(pool, network, cluster)
        self.service = self._service(provider, network, cluster)
        self.scaling = WorkerScaling(
            self,
            "Scaling",
            stage=stage,
            pool_name=pool_name,
            pool=pool,
            cluster_name=cluster.cluster_name,
            service_name=self.service.attr_name,
        )

    def _provider(self, pool: PoolCapacity, network: WorkerNetwork, cluster: ecs.Cluster) -> str:
        match pool.host:
            case Host.MANAGED:
                managed = ManagedHosts(self, "Hosts", pool=pool, network=network, cluster=cluster)
                return managed.provider
            case Host.EC2:
                ours = AutoScaledHosts(self, "Hosts", pool=pool, network=network, cluster=cluster)
                return ours.provider
            case _:
                return "FARGATE_SPOT" if pool.spot else "FARGATE"

    def _service(
        self, provider: str, network: WorkerNetwork, cluster: ecs.Cluster
    ) -> ecs.CfnService:
        least, most = HEALTHY
        service = ecs.CfnService(
            self,
            "Service",
            cluster=cluster.cluster_name,
            task_definition=self.task.definition.task_definition_arn,
            # No `desired_count`: a deploy would set the running fleet back to it. A new service
            # starts one worker, which shows that image, rights and capacity are well.
            capacity_provider_strategy=[
                ecs.CfnService.CapacityProviderStrategyItemProperty(
                    capacity_provider=provider, weight=1
                )
            ],
            network_configuration=ecs.CfnService.NetworkConfigurationProperty(
                awsvpc_configuration=ecs.CfnService.AwsVpcConfigurationProperty(
                    subnets=[subnet.subnet_id for subnet in network.subnets],
                    security_groups=[network.workers.security_group_id],
                    assign_public_ip="DISABLED",
                )
            ),
            deployment_configuration=ecs.CfnService.DeploymentConfigurationProperty(
                minimum_healthy_percent=least,
                maximum_percent=most,
                deployment_circuit_breaker=ecs.CfnService.DeploymentCircuitBreakerProperty(
                    enable=True, rollback=True
                ),
            ),
            enable_ecs_managed_tags=True,
            propagate_tags="SERVICE",
        )
        # Deleted before what it runs on: a provider that is in use cannot go, and hangs the stack.
        service.node.add_dependency(cluster)
        return service
