"""GPU instances that AWS chooses by what a worker needs, as a capacity provider of a pool's own."""

from __future__ import annotations

from typing import Final

import aws_cdk as cdk
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_ecs as ecs
from constructs import Construct

from cdk_app.findings import acknowledge, acknowledge_wildcard
from cdk_app.worker_network import WorkerNetwork
from taskgate.capacity import PoolCapacity
from taskgate.errors import BadSetting

DISK: Final = 100
"""GiB for images, models and the files of attempts."""


class ManagedHosts(Construct):
    """Instances that AWS chooses by what a worker needs, patches, and drains after 14 days.

    Exposes `provider`, the name of the capacity provider.
    """

    def __init__(
        self,
        scope: Construct,
        name: str,
        *,
        pool: PoolCapacity,
        network: WorkerNetwork,
        cluster: ecs.Cluster,
    ) -> None:
        super().__init__(scope, name)
        provider = ecs.ManagedInstancesCapacityProvider(
            self,
            "Provider",
            subnets=network.subnets,
            security_groups=[network.workers],
            capacity_option_type=(
                ecs.CapacityOptionType.SPOT if pool.spot else ecs.CapacityOptionType.ON_DEMAND
            ),
            instance_requirements=_requirements(pool),
            task_volume_storage=cdk.Size.gibibytes(DISK),
            propagate_tags=ecs.PropagateManagedInstancesTags.CAPACITY_PROVIDER,
        )
        cluster.add_managed_instances_capacity_provider(provider)
        self.provider = provider.capacity_provider_name
        self._acknowledge(provider)

    def _acknowledge(self, provider: ecs.ManagedInstancesCapacityProvider) -> None:
        acknowledge(
            provider.infrastructure_role,
            {
                "AwsSolutions-IAM4[Policy::arn:<AWS::Partition>:iam::aws:policy/"
                "AmazonECSInfrastructureRolePolicyForManagedInstances]": (
                    "AWS's own policy for what AWS does in this role: it changes with the service"
                )
            },
        )
        # CDK writes the rights of an instance's agent; a container cannot use them.
        agent = provider.node.find_child("InstanceRole")
        acknowledge_wildcard(agent, "*", "ecs:DiscoverPollEndpoint takes no resource")
        instances = cdk.Stack.of(self).format_arn(
            service="ecs", resource="container-instance", resource_name="*"
        )
        acknowledge_wildcard(
            agent,
            instances,
            "an instance has its id from ECS, at its start",
        )


def _requirements(pool: PoolCapacity) -> ec2.InstanceRequirementsConfig:
    if not pool.gpus:
        return ec2.InstanceRequirementsConfig(
            v_cpu_count_min=_vcpus(pool), memory_min=_memory(pool), accelerator_count_max=0
        )
    return ec2.InstanceRequirementsConfig(
        v_cpu_count_min=_vcpus(pool),
        memory_min=_memory(pool),
        accelerator_count_min=pool.gpus,
        # A machine with more GPUs than a worker uses would be paid for in vain.
        accelerator_count_max=pool.gpus,
        accelerator_types=[ec2.AcceleratorType.GPU],
        accelerator_manufacturers=[ec2.AcceleratorManufacturer.NVIDIA],
        accelerator_names=[_accelerator(name) for name in pool.accelerators],
    )


def _vcpus(pool: PoolCapacity) -> int:
    return -(-pool.cpu // 1024)


def _memory(pool: PoolCapacity) -> cdk.Size:
    return cdk.Size.mebibytes(pool.memory)


def _accelerator(name: str) -> ec2.AcceleratorName:
    names = ec2.AcceleratorName.__members__
    if name.upper() not in names:
        known = ", ".join(sorted(known.lower() for known in names))
        raise BadSetting("accelerators", name, f"of {known}")
    return names[name.upper()]
