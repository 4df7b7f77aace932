"""The ECS task of a pool's worker: the image, its rights, its limits and its health check."""

from __future__ import annotations

from typing import Final

import aws_cdk as cdk
from aws_cdk import aws_ecr as ecr
from aws_cdk import aws_ecs as ecs
from aws_cdk import aws_iam as iam
from aws_cdk import aws_logs as logs
from constructs import Construct

from cdk_app.data_stack import DataStack
from cdk_app.findings import acknowledge
from cdk_app.function import retention
from cdk_app.worker_role import StarterRole, WorkerRole
from taskgate.capacity import Host, PoolCapacity
from taskgate.settings import Stage

CONTAINER: Final = "worker"
USER: Final = "10001"
"""As in gpu_worker/Dockerfile."""
SCRATCH: Final = "/scratch"
"""The one place that a worker may write to; a volume in gpu_worker/Dockerfile, so that it is its own."""
START: Final = 300
"""Seconds that a worker may load its models before its health counts; ECS allows no more."""
LEAVE: Final = 10
"""Seconds of the stop timeout for the hand-back and the way out, after the drain."""

COMPATIBLE: Final = {
    Host.MANAGED: ecs.Compatibility.MANAGED_INSTANCES,
    Host.EC2: ecs.Compatibility.EC2,
    Host.FARGATE: ecs.Compatibility.FARGATE,
}


class WorkerTask(Construct):
    """Exposes `definition` and `log_group`."""

    def __init__(
        self,
        scope: Construct,
        name: str,
        *,
        stage: Stage,
        data: DataStack,
        pool_name: str,
        pool: PoolCapacity,
        cluster_name: str,
    ) -> None:
        super().__init__(scope, name)
        image = ecr.Repository.from_repository_name(self, "Image", stage.workers.repository)
        family = f"{stage.prefix}-worker-{pool_name}"
        self.log_group = self._logs(family, stage.log_days)
        worker = WorkerRole(self, "Worker", data=data, pool=pool_name, cluster_name=cluster_name)
        starter = StarterRole(
            self, "Starter", repository_arn=image.repository_arn, log_group=self.log_group
        )
        self.definition = self._definition(family, pool, worker.role, starter.role)
        environment = data.environment_contract.as_variables()
        environment |= _worker_variables(stage, pool_name, pool)
        container = self._container(stage, pool, image, environment)
        container.add_mount_points(
            ecs.MountPoint(container_path=SCRATCH, source_volume="scratch", read_only=False)
        )
        acknowledge(
            self.definition,
            {"AwsSolutions-ECS2": "names, addresses and numbers of this deployment; no secret"},
        )

    def _logs(self, family: str, days: int) -> logs.LogGroup:
        return logs.LogGroup(
            self,
            "Logs",
            log_group_name=f"/taskgate/{family}",
            retention=retention(days),
            removal_policy=cdk.RemovalPolicy.DESTROY,
        )

    def _definition(
        self, family: str, pool: PoolCapacity, worker: iam.Role, starter: iam.Role
    ) -> ecs.TaskDefinition:
        return ecs.TaskDefinition(
            self,
            "Definition",
            family=family,
            compatibility=COMPATIBLE[pool.host],
            network_mode=ecs.NetworkMode.AWS_VPC,
            cpu=str(pool.cpu),
            memory_mib=str(pool.memory),
            task_role=worker,
            execution_role=starter,
            volumes=[ecs.Volume(name="scratch")],
        )

    def _container(
        self, stage: Stage, pool: PoolCapacity, image: ecr.IRepository, variables: dict[str, str]
    ) -> ecs.ContainerDefinition:
        return self.definition.add_container(
            CONTAINER,
            container_name=CONTAINER,
            image=ecs.ContainerImage.from_ecr_repository(image, stage.workers.version),
            essential=True,
            gpu_count=pool.gpus or None,
            environment=variables,
            user=USER,
            readonly_root_filesystem=True,
            stop_timeout=cdk.Duration.seconds(stage.timing.stop_timeout),
            linux_parameters=self._linux(),
            health_check=ecs.HealthCheck(
                command=["CMD", "python", "-m", "gpu_worker.health"],
                interval=cdk.Duration.seconds(30),
                timeout=cdk.Duration.seconds(15),
                retries=3,
                start_period=cdk.Duration.seconds(START),
            ),
            logging=ecs.LogDrivers.aws_logs(
                stream_prefix="worker",
                log_group=self.log_group,
                # A log service that is away must not hold a worker's beats up.
                mode=ecs.AwsLogDriverMode.NON_BLOCKING,
                max_buffer_size=cdk.Size.mebibytes(8),
            ),
        )

    def _linux(self) -> ecs.LinuxParameters:
        # An init process reaps what models start and leave behind, and passes signals on.
        linux = ecs.LinuxParameters(self, "Linux", init_process_enabled=True)
        linux.drop_capabilities(ecs.Capability.ALL)
        return linux


def _worker_variables(stage: Stage, pool_name: str, pool: PoolCapacity) -> dict[str, str]:
    return {
        "TASKGATE_POOL": pool_name,
        "TASKGATE_DRAIN": str(stage.timing.stop_timeout - LEAVE),
        "TASKGATE_REQUIRE_GPU": "1" if pool.gpus else "0",
        "TASKGATE_SCRATCH": SCRATCH,
        "TASKGATE_HEALTH_FILE": f"{SCRATCH}/ready",
        # Libraries that write where nobody told them to.
        "TMPDIR": SCRATCH,
        "HOME": SCRATCH,
        "AWS_REGION": cdk.Aws.REGION,
    }
