"""GPU instances of an Auto Scaling group of ours, as a capacity provider of a pool's own.

Neither group nor provider has a name of its own: a new machine image or instance type may need a new
one beside the old. Neither protects its instances from being terminated: a stack with such a provider
hangs when it is deleted. What protects a busy worker is ECS task protection, and draining.
"""

from __future__ import annotations

from typing import Final

from aws_cdk import aws_autoscaling as autoscaling
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_ecs as ecs
from aws_cdk import aws_iam as iam
from constructs import Construct

from cdk_app.findings import acknowledge, acknowledge_wildcard
from cdk_app.worker_network import WorkerNetwork
from taskgate.capacity import PoolCapacity

DISK: Final = 100
"""GiB for images, models and the files of attempts."""


class AutoScaledHosts(Construct):
    """An Auto Scaling group on the ECS-optimised GPU image, which ECS sizes by what tasks need.

    Exposes `provider`, the name of the capacity provider, and `group`.
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
        self.group = self._group(pool, network)
        provider = ecs.AsgCapacityProvider(
            self,
            "Provider",
            auto_scaling_group=self.group,
            enable_managed_scaling=True,
            target_capacity_percent=100,
            enable_managed_termination_protection=False,
            enable_managed_draining=True,
            machine_image_type=ecs.MachineImageType.AMAZON_LINUX_2,
        )
        cluster.add_asg_capacity_provider(
            provider, machine_image_type=ecs.MachineImageType.AMAZON_LINUX_2
        )
        self.provider = provider.capacity_provider_name

    def _group(self, pool: PoolCapacity, network: WorkerNetwork) -> autoscaling.AutoScalingGroup:
        shares = autoscaling.InstancesDistribution(
            on_demand_percentage_above_base_capacity=0 if pool.spot else 100,
            on_demand_allocation_strategy=autoscaling.OnDemandAllocationStrategy.PRIORITIZED,
            spot_allocation_strategy=(
                autoscaling.SpotAllocationStrategy.PRICE_CAPACITY_OPTIMIZED if pool.spot else None
            ),
        )
        group = autoscaling.AutoScalingGroup(
            self,
            "Group",
            vpc=network.vpc,
            vpc_subnets=ec2.SubnetSelection(subnets=network.subnets),
            min_capacity=0,
            max_capacity=pool.most,
            new_instances_protected_from_scale_in=False,
            mixed_instances_policy=autoscaling.MixedInstancesPolicy(
                launch_template=self._launch_template(pool, network),
                launch_template_overrides=[
                    autoscaling.LaunchTemplateOverrides(instance_type=ec2.InstanceType(kind))
                    for kind in pool.instance_types
                ],
                instances_distribution=shares,
            ),
        )
        acknowledge(
            group,
            {
                "AwsSolutions-EC26": "its disks are encrypted, by the launch template",
                "AwsSolutions-AS3": "ECS sizes it all day long; alarms watch what follows from it",
            },
        )
        return group

    def _launch_template(self, pool: PoolCapacity, network: WorkerNetwork) -> ec2.LaunchTemplate:
        hardware = ecs.AmiHardwareType.GPU if pool.gpus else ecs.AmiHardwareType.STANDARD
        return ec2.LaunchTemplate(
            self,
            "Template",
            # An SSM parameter, which CloudFormation reads at each deploy: no look-up at synth.
            machine_image=ecs.EcsOptimizedImage.amazon_linux2023(hardware),
            instance_type=ec2.InstanceType(pool.instance_types[0]),
            security_group=network.workers,
            role=self._role(),
            user_data=_user_data(),
            require_imdsv2=True,
            http_put_response_hop_limit=1,
            block_devices=[
                ec2.BlockDevice(
                    device_name="/dev/xvda",
                    volume=ec2.BlockDeviceVolume.ebs(
                        DISK, encrypted=True, volume_type=ec2.EbsDeviceVolumeType.GP3
                    ),
                )
            ],
        )

    def _role(self) -> iam.Role:
        """CDK adds the rights of the agent. A container cannot use them."""
        role = iam.Role(self, "Role", assumed_by=iam.ServicePrincipal("ec2.amazonaws.com"))
        acknowledge_wildcard(
            role, "*", "the agent's calls, of which some take no resource, and the rest a condition"
        )
        acknowledge(
            role,
            {"AwsSolutions-IAM5[Action::ecs:Submit*]": "CDK's word for what an agent reports"},
        )
        return role


def _user_data() -> ec2.UserData:
    data = ec2.UserData.for_linux()
    data.add_commands(
        # CDK writes this only for groups with a Spot price of their own; it is off by default.
        "echo ECS_ENABLE_SPOT_INSTANCE_DRAINING=true >> /etc/ecs/ecs.config",
        # A worker has a role of its own, and no use for the host's.
        "echo ECS_AWSVPC_BLOCK_IMDS=true >> /etc/ecs/ecs.config",
    )
    return data
