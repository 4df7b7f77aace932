"""The workers' stack: what must hold on AWS before anybody has seen it there."""

from __future__ import annotations

import json
import re
from dataclasses import replace

import pytest

from cdk_app.bundle import ROOT
from gpu_worker.health import STILL, VARIABLE
from gpu_worker.settings import WorkerSettings
from gpu_worker.stop import LEAVE
from taskgate.capacity import Egress, Host, PoolCapacity, Workers
from taskgate.catalog import CATALOG
from taskgate.errors import BadSetting
from taskgate.settings import PRIORITIES, STAGES, Environment, Stage, stage

SERVICE, TASK, POLICY = "AWS::ECS::Service", "AWS::ECS::TaskDefinition", "AWS::IAM::Policy"
TARGET = "AWS::ApplicationAutoScaling::ScalableTarget"
HOSTED = [name for name in STAGES if stage(name).workers.hosted]


def on_ec2(name: str = "prod") -> Workers:
    """A stage's workers, the GPU pool on Spot instances of our own, without a way to the internet."""
    workers = stage(name).workers
    gpu = replace(workers.pools["gpu"], host=Host.EC2, spot=True)
    return replace(workers, pools={**workers.pools, "gpu": gpu}, egress=Egress.ENDPOINTS)


@pytest.fixture(scope="module")
def workers(workers_of):
    return workers_of("prod")


@pytest.fixture(scope="module")
def ec2(workers_of):
    return workers_of("prod", workers=on_ec2())


def by_pool(template, kind):
    """Resources of a kind by the pool that they are of."""
    return {
        name.partition("pool")[0]: resource["Properties"]
        for name, resource in template.of_type(kind).items()
    }


def container(template, pool):
    [found] = by_pool(template, TASK)[pool]["ContainerDefinitions"]
    return found


def variables(template, pool, resolve):
    return {v["Name"]: resolve(v["Value"]) for v in container(template, pool)["Environment"]}


@pytest.mark.parametrize("name", HOSTED)
def test_each_pool_of_the_catalog_has_one_service_in_every_stage_of_an_account(workers_of, name):
    template = workers_of(name)
    assert set(by_pool(template, SERVICE)) == set(CATALOG.pools)
    assert set(HOSTED) == {"dev", "staging", "prod"}


def test_the_local_stage_has_no_workers_stack_for_its_workers_are_processes(deployments):
    assert deployments("local").workers is None


def test_a_stage_whose_workers_are_all_elsewhere_has_no_workers_stack(deployments):
    assert deployments("staging", workers=Workers()).workers is None


def test_a_pool_that_the_catalog_does_not_know_is_refused_by_name(deployments):
    unknown = Workers(pools={"gpus": PoolCapacity(host=Host.FARGATE)})
    with pytest.raises(BadSetting, match=r"gpus.*cpu, gpu"):
        deployments("staging", workers=unknown)


def test_a_gpu_pools_worker_gets_whole_gpus_and_proves_that_it_sees_them(workers, resolve):
    assert container(workers, "gpu")["ResourceRequirements"] == [{"Type": "GPU", "Value": "1"}]
    assert variables(workers, "gpu", resolve)["TASKGATE_REQUIRE_GPU"] == "1"
    assert "ResourceRequirements" not in container(workers, "cpu")
    assert variables(workers, "cpu", resolve)["TASKGATE_REQUIRE_GPU"] == "0"


@pytest.mark.parametrize("name", HOSTED)
@pytest.mark.parametrize("pool", CATALOG.pools)
def test_a_worker_can_read_all_that_its_stack_tells_it(workers_of, resolve, tmp_path, name, pool):
    told = variables(workers_of(name), pool, resolve)
    assert Environment.read(told).stage == name
    # The folder is the image's; on this machine another one stands for it.
    told |= {"TASKGATE_SCRATCH": str(tmp_path), VARIABLE: str(tmp_path / "ready")}
    settings = WorkerSettings.read(told)
    assert settings.pool == pool
    assert settings.health == tmp_path / "ready"


@pytest.mark.parametrize("name", HOSTED)
@pytest.mark.parametrize("pool", CATALOG.pools)
def test_a_stopped_worker_has_the_time_to_hand_its_task_back(workers_of, resolve, name, pool):
    template = workers_of(name)
    stop = container(template, pool)["StopTimeout"]
    drain = int(variables(template, pool, resolve)["TASKGATE_DRAIN"])
    assert stop == stage(name).timing.stop_timeout
    assert drain + LEAVE < stop
    assert 110 <= stop <= 120


def test_an_init_process_reaps_what_models_leave_behind(workers):
    for pool in CATALOG.pools:
        assert container(workers, pool)["LinuxParameters"]["InitProcessEnabled"] is True


def test_a_worker_is_no_root_and_writes_to_its_scratch_alone(workers):
    for pool in CATALOG.pools:
        found = container(workers, pool)
        assert found["ReadonlyRootFilesystem"] is True
        assert found["User"] == "10001"
        assert found["LinuxParameters"]["Capabilities"] == {"Drop": ["ALL"]}
        assert [m["ContainerPath"] for m in found["MountPoints"]] == ["/scratch"]


def test_the_health_check_asks_the_worker_and_gives_its_models_time_to_load(workers):
    for pool in CATALOG.pools:
        check = container(workers, pool)["HealthCheck"]
        assert check["Command"] == ["CMD", "python", "-m", "gpu_worker.health"]
        patience = check["StartPeriod"] + check["Retries"] * check["Interval"]
        loads = [t.startup_timeout for t in CATALOG if t.pool == pool]
        assert max(loads) <= patience
        assert check["StartPeriod"] <= 300
        assert WorkerSettings(pool=pool).silent_limit < STILL


def test_workers_have_no_public_address(workers, ec2):
    for template in (workers, ec2):
        for service in template.properties(SERVICE):
            network = service["NetworkConfiguration"]["AwsvpcConfiguration"]
            assert network["AssignPublicIp"] == "DISABLED"
        for subnet in template.properties("AWS::EC2::Subnet"):
            assert subnet["MapPublicIpOnLaunch"] is False


def test_nobody_can_call_a_worker(workers, ec2):
    for template in (workers, ec2):
        groups = template.properties("AWS::EC2::SecurityGroup")
        calling = [g for g in groups if "SecurityGroupIngress" not in g]
        assert [g for g in groups if "0.0.0.0/0" in str(g.get("SecurityGroupIngress"))] == []
        assert calling


def test_records_and_bytes_never_pay_for_the_nat_gateway(workers, resolve):
    kinds = {
        resolve(e["ServiceName"]).rpartition(".")[2]: e["VpcEndpointType"]
        for e in workers.properties("AWS::EC2::VPCEndpoint")
    }
    assert kinds == {"dynamodb": "Gateway", "s3": "Gateway"}
    assert len(workers.properties("AWS::EC2::NatGateway")) == 1


def test_without_a_nat_gateway_all_that_workers_call_has_an_endpoint(ec2, resolve):
    names = {
        re.sub(r"^com\.amazonaws\.<AWS::Region>\.", "", resolve(e["ServiceName"]))
        for e in ec2.properties("AWS::EC2::VPCEndpoint")
    }
    assert {"sqs", "logs", "ecr.api", "ecr.dkr", "ecs", "ecs-agent", "ecs-telemetry"} < names
    assert not ec2.of_type("AWS::EC2::NatGateway")
    assert not ec2.of_type("AWS::EC2::InternetGateway")


RIGHTS = {
    "tasks": ["BatchGetItem", "GetItem", "UpdateItem"],
    "ephemeral": ["BatchGetItem", "ConditionCheckItem", "GetItem", "UpdateItem"],
    "errands": ["SendMessage"],
    "own lanes": [
        "ChangeMessageVisibility",
        "DeleteMessage",
        "GetQueueAttributes",
        "ReceiveMessage",
        "SendMessage",
    ],
    "/r/*": ["AbortMultipartUpload", "GetObject", "PutObject"],
    "/in/*": ["GetObject"],
    "own task": ["GetTaskProtection", "UpdateTaskProtection"],
}


def kind_of(arn, pool):
    for part, kind in (
        ("TasksTable", "tasks"),
        ("EphemeralTable", "ephemeral"),
        ("Errands", "errands"),
        (":task/", "own task"),
    ):
        if part in arn:
            return kind
    if any(f"Lanes{pool}{priority}" in arn for priority in PRIORITIES):
        return "own lanes"
    return next((end for end in ("/r/*", "/in/*") if arn.endswith(end)), arn)


@pytest.mark.parametrize("pool", CATALOG.pools)
def test_a_worker_has_exactly_the_rights_that_its_work_needs(workers, resolve, pool):
    [policy] = [
        r["Properties"]
        for name, r in workers.of_type(POLICY).items()
        if name.startswith(f"{pool}poolTaskWorker")
    ]
    found: dict[str, set] = {}
    for statement in policy["PolicyDocument"]["Statement"]:
        actions, arns = (
            value if isinstance(value, list) else [value]
            for value in (statement["Action"], resolve(statement["Resource"]))
        )
        for arn in arns:
            found.setdefault(kind_of(arn, pool), set()).update(a.split(":")[1] for a in actions)
    assert {kind: sorted(actions) for kind, actions in found.items()} == RIGHTS


def test_a_worker_in_which_a_model_runs_cannot_touch_api_keys(workers):
    on_tasks = [
        statement
        for policy in workers.properties(POLICY)
        for statement in policy["PolicyDocument"]["Statement"]
        if "TasksTable" in json.dumps(statement)
    ]
    assert len(on_tasks) == 2 * len(CATALOG.pools)
    for statement in on_tasks:
        keys = statement["Condition"]["ForAllValues:StringLike"]["dynamodb:LeadingKeys"]
        # What operators paused is read, never written.
        assert keys == ["TASK#*", "LEDGER#*"] or (
            keys == ["SWITCHES"] and statement["Action"] == "dynamodb:GetItem"
        )


def test_a_deployment_can_replace_a_single_worker(workers):
    for service in workers.properties(SERVICE):
        config = service["DeploymentConfiguration"]
        least = -(-1 * config["MinimumHealthyPercent"] // 100)
        most = 1 * config["MaximumPercent"] // 100
        assert most > least, "neither the old worker could go nor the new one come"
        assert config["DeploymentCircuitBreaker"] == {"Enable": True, "Rollback": True}


def test_a_deploy_leaves_the_number_of_workers_as_it_is(workers):
    assert not [s for s in workers.properties(SERVICE) if "DesiredCount" in s]


def test_the_image_is_a_reference_that_needs_no_docker(workers, workers_of, resolve):
    assert resolve(container(workers, "gpu")["Image"]).endswith("/taskgate-worker:0.1.0")
    digest = f"taskgate-worker@sha256:{'a' * 64}"
    pinned = workers_of("prod", workers=replace(stage("prod").workers, image=digest))
    assert resolve(container(pinned, "gpu")["Image"]).endswith(digest)


def test_the_default_image_is_of_this_version():
    pyproject = (ROOT / "pyproject.toml").read_text()
    version = re.search(r'^version = "(.+)"$', pyproject, re.MULTILINE)
    assert version
    assert stage("prod").workers.version == version[1]


def test_managed_capacity_asks_for_gpus_by_what_they_are(workers):
    [provider] = workers.properties("AWS::ECS::CapacityProvider")
    asked = provider["ManagedInstancesProvider"]["InstanceLaunchTemplate"]
    needs = asked["InstanceRequirements"]
    assert needs["AcceleratorNames"] == ["l4", "a10g"]
    assert needs["AcceleratorCount"] == {"Min": 1, "Max": 1}
    assert asked["CapacityOptionType"] == "ON_DEMAND"


def test_dev_runs_on_spot_and_says_so(workers_of):
    template = workers_of("dev")
    [provider] = template.properties("AWS::ECS::CapacityProvider")
    launch = provider["ManagedInstancesProvider"]["InstanceLaunchTemplate"]
    assert launch["CapacityOptionType"] == "SPOT"
    [strategy] = by_pool(template, SERVICE)["cpu"]["CapacityProviderStrategy"]
    assert strategy["CapacityProvider"] == "FARGATE_SPOT"


def test_spot_instances_of_our_own_drain_when_they_are_taken_back(ec2, resolve):
    [template] = ec2.properties("AWS::EC2::LaunchTemplate")
    data = template["LaunchTemplateData"]
    script = resolve(data["UserData"]["Fn::Base64"])
    assert "ECS_ENABLE_SPOT_INSTANCE_DRAINING=true" in script
    assert data["MetadataOptions"]["HttpTokens"] == "required"
    assert "ECS_AWSVPC_BLOCK_IMDS=true" in script
    assert data["BlockDeviceMappings"][0]["Ebs"]["Encrypted"] is True


def test_the_gpu_machine_image_is_named_at_deploy(ec2):
    parameters = ec2.body["Parameters"].values()
    assert [p["Default"] for p in parameters if "gpu" in str(p.get("Default"))] == [
        "/aws/service/ecs/optimized-ami/amazon-linux-2023/gpu/recommended/image_id"
    ]


def test_no_protected_instance_can_hold_up_the_deletion_of_the_stack(ec2):
    [provider] = ec2.properties("AWS::ECS::CapacityProvider")
    managed = provider["AutoScalingGroupProvider"]
    assert managed["ManagedTerminationProtection"] == "DISABLED"
    assert managed["ManagedDraining"] == "ENABLED"
    [group] = ec2.properties("AWS::AutoScaling::AutoScalingGroup")
    assert group["NewInstancesProtectedFromScaleIn"] is False
    assert not ec2.of_type("AWS::AutoScaling::LaunchConfiguration")


def test_a_service_goes_before_what_it_runs_on(workers, ec2):
    for template in (workers, ec2):
        [associations] = template.of_type("AWS::ECS::ClusterCapacityProviderAssociations")
        for service in template.of_type(SERVICE).values():
            assert associations in service["DependsOn"]


def test_no_name_keeps_a_provider_or_a_group_from_being_replaced(ec2, workers):
    for template in (ec2, workers):
        for provider in template.properties("AWS::ECS::CapacityProvider"):
            assert "Name" not in provider
        for service in template.properties(SERVICE):
            assert "ServiceName" not in service
    [group] = ec2.properties("AWS::AutoScaling::AutoScalingGroup")
    assert "AutoScalingGroupName" not in group


def test_the_stack_makes_no_function_and_no_custom_resource(workers, ec2):
    for template in (workers, ec2):
        kinds = {r["Type"] for r in template.body["Resources"].values()}
        assert not [k for k in kinds if k.startswith(("Custom::", "AWS::Lambda::"))]


def test_logs_are_kept_for_as_long_as_the_stage_says(workers):
    kept = {
        group["LogGroupName"]: group["RetentionInDays"]
        for group in workers.properties("AWS::Logs::LogGroup")
    }
    prod: Stage = stage("prod")
    assert kept == {
        f"/taskgate/{prod.prefix}-worker-gpu": prod.log_days,
        f"/taskgate/{prod.prefix}-worker-cpu": prod.log_days,
        f"/taskgate/{prod.prefix}-workers-network": prod.workers.flow_log_days,
    }


def test_a_log_service_that_is_away_holds_no_beat_up(workers):
    for pool in CATALOG.pools:
        assert container(workers, pool)["LogConfiguration"]["Options"]["mode"] == "non-blocking"


def test_no_secret_stands_in_the_environment(workers, resolve):
    for pool in CATALOG.pools:
        told = json.dumps(variables(workers, pool, resolve))
        assert not re.search(r"whsec_|AKIA|password|tg_[a-z]+_", told, re.IGNORECASE)
        # The name of the master key is told to all; only the API and the outbox may read it.
        assert "secretsmanager" not in json.dumps(workers.properties(POLICY))
