"""Where workers live: private subnets, no public address, and one way out by the stage's setting."""

from __future__ import annotations

from typing import Final

import aws_cdk as cdk
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_logs as logs
from constructs import Construct

from cdk_app.function import retention
from taskgate.capacity import Egress
from taskgate.settings import Stage

SERVICES: Final = {
    "Queues": ec2.InterfaceVpcEndpointAwsService.SQS,
    "Logs": ec2.InterfaceVpcEndpointAwsService.CLOUDWATCH_LOGS,
    "Images": ec2.InterfaceVpcEndpointAwsService.ECR,
    "Layers": ec2.InterfaceVpcEndpointAwsService.ECR_DOCKER,
    # What an instance needs to join the cluster, and a worker to be protected from scale-in.
    "Ecs": ec2.InterfaceVpcEndpointAwsService.ECS,
    "EcsAgent": ec2.InterfaceVpcEndpointAwsService.ECS_AGENT,
    "EcsTelemetry": ec2.InterfaceVpcEndpointAwsService.ECS_TELEMETRY,
}
"""What workers and their hosts call, beside the tables and the bucket."""


class WorkerNetwork(Construct):
    """Exposes `vpc`, `subnets` and `workers`, the security group of everything in them."""

    def __init__(self, scope: Construct, name: str, *, stage: Stage) -> None:
        super().__init__(scope, name)
        nat = stage.workers.egress is Egress.NAT
        self.vpc = ec2.Vpc(
            self,
            "Vpc",
            vpc_name=f"{stage.prefix}-workers",
            ip_addresses=ec2.IpAddresses.cidr("10.42.0.0/16"),
            max_azs=stage.workers.zones,
            nat_gateways=1 if nat else 0,
            subnet_configuration=_subnets(nat=nat),
            # Free, and the way of every record and every byte: they never pass the NAT gateway.
            gateway_endpoints={
                "Tables": ec2.GatewayVpcEndpointOptions(
                    service=ec2.GatewayVpcEndpointAwsService.DYNAMODB
                ),
                "Bucket": ec2.GatewayVpcEndpointOptions(
                    service=ec2.GatewayVpcEndpointAwsService.S3
                ),
            },
            # CDK would empty the default group by a custom resource; nothing of ours is in it.
            restrict_default_security_group=False,
        )
        self.subnets = self.vpc.select_subnets(subnet_group_name="workers").subnets
        # Nobody calls a worker.
        self.workers = ec2.SecurityGroup(
            self, "Workers", vpc=self.vpc, description="Taskgate workers: they call, nobody calls"
        )
        self._log_refusals(stage)
        if not nat:
            self._endpoints()

    def _log_refusals(self, stage: Stage) -> None:
        """What was refused is rare and telling; what was let through costs more than it says."""
        log_group = logs.LogGroup(
            self,
            "FlowLogs",
            log_group_name=f"/taskgate/{stage.prefix}-workers-network",
            retention=retention(stage.workers.flow_log_days),
            removal_policy=cdk.RemovalPolicy.DESTROY,
        )
        self.vpc.add_flow_log(
            "Refused",
            destination=ec2.FlowLogDestination.to_cloud_watch_logs(log_group),
            traffic_type=ec2.FlowLogTrafficType.REJECT,
        )

    def _endpoints(self) -> None:
        doors = ec2.SecurityGroup(
            self, "Doors", vpc=self.vpc, description="Taskgate: AWS services, for workers"
        )
        doors.add_ingress_rule(self.workers, ec2.Port.tcp(443), "workers and their hosts")
        for name, service in SERVICES.items():
            self.vpc.add_interface_endpoint(
                name,
                service=service,
                subnets=ec2.SubnetSelection(subnets=self.subnets),
                security_groups=[doors],
                open=False,
            )


def _subnets(*, nat: bool) -> list[ec2.SubnetConfiguration]:
    kind = ec2.SubnetType.PRIVATE_WITH_EGRESS if nat else ec2.SubnetType.PRIVATE_ISOLATED
    private = ec2.SubnetConfiguration(name="workers", subnet_type=kind, cidr_mask=20)
    # The NAT gateway's own place, and nothing else's: it hands out no address by itself.
    public = ec2.SubnetConfiguration(
        name="nat",
        subnet_type=ec2.SubnetType.PUBLIC,
        cidr_mask=28,
        map_public_ip_on_launch=False,
    )
    return [private, public] if nat else [private]
