"""The worker's role on the local stack, whose workers are processes and have none of their own.

``python -m tests.privilege.worker_role`` prints the rights that the stacks would give it, for the local
names; `working_role` makes that role on the emulator, so that a process can be started under it.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from typing import Any, Final

from taskgate.local import LocalStack
from taskgate.local.cdk import ROOT
from taskgate.settings import stage
from tests.privilege.calls import ACCOUNT, Call
from tests.privilege.rights import statements_of
from tests.privilege.roles import Role

NAME: Final = f"{stage('local').prefix}-worker"
CLUSTER: Final = "workers"
PROTECTION: Final = ("ecs:GetTaskProtection", "ecs:UpdateTaskProtection")
_ARNS: Final = {
    "AWS::DynamoDB::Table": ("TableName", f"arn:aws:dynamodb:{ACCOUNT}:table/"),
    "AWS::SQS::Queue": ("QueueName", f"arn:aws:sqs:{ACCOUNT}:"),
    "AWS::S3::Bucket": ("BucketName", "arn:aws:s3:::"),
}
_PSEUDO: Final = {
    "AWS::Partition": "aws",
    "AWS::Region": "us-east-1",
    "AWS::AccountId": "000000000000",
}


def working_role(stack: LocalStack) -> Role:
    """Make the role; the ECS agent's calls in its name are taken as made, since no agent is here."""
    command = [sys.executable, "-m", "tests.privilege.worker_role"]
    printed = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout
    document = json.loads(printed)
    iam = stack.client("iam")
    iam.create_role(RoleName=NAME, AssumeRolePolicyDocument=json.dumps(_TRUST))
    iam.put_role_policy(RoleName=NAME, PolicyName="rights", PolicyDocument=printed)
    task = f"arn:aws:ecs:{ACCOUNT}:task/{CLUSTER}/0"
    agent = frozenset(Call(NAME, action, task) for action in PROTECTION)
    return Role("worker", NAME, tuple(statements_of(document)), agent)


def credentials(stack: LocalStack) -> dict[str, str]:
    """Variables that put a process under the role."""
    arn = f"arn:aws:iam::000000000000:role/{NAME}"
    made = stack.client("sts").assume_role(RoleArn=arn, RoleSessionName="worker")["Credentials"]
    return {
        "AWS_ACCESS_KEY_ID": made["AccessKeyId"],
        "AWS_SECRET_ACCESS_KEY": made["SecretAccessKey"],
        "AWS_SESSION_TOKEN": made["SessionToken"],
    }


_TRUST: Final = {
    "Version": "2012-10-17",
    "Statement": [
        {
            "Effect": "Allow",
            "Principal": {"AWS": "arn:aws:iam::000000000000:root"},
            "Action": "sts:AssumeRole",
        }
    ],
}


def _document() -> dict[str, Any]:
    """The statements of every pool's role, beside the data that they name."""
    from cdk_app.cli import NODE  # noqa: PLC0415

    os.environ["JSII_NODE"] = str(NODE)
    import aws_cdk as cdk  # noqa: PLC0415
    from aws_cdk.assertions import Template  # noqa: PLC0415

    from cdk_app.data_stack import DataStack  # noqa: PLC0415
    from cdk_app.worker_role import WorkerRole  # noqa: PLC0415
    from taskgate.catalog import CATALOG  # noqa: PLC0415

    app = cdk.App(context=json.loads((ROOT / "cdk.json").read_text())["context"])
    data = DataStack(app, "Data", stage=stage("local"), synthesizer=None)
    for pool in CATALOG.pools:
        WorkerRole(data, f"Role{pool}", data=data, pool=pool, cluster_name=CLUSTER)
    resources = Template.from_stack(data).to_json()["Resources"]
    statements = [
        _resolved(statement, resources)
        for resource in resources.values()
        if resource["Type"] == "AWS::IAM::Policy"
        for statement in resource["Properties"]["PolicyDocument"]["Statement"]
    ]
    return {"Version": "2012-10-17", "Statement": statements}


def _resolved(value: Any, resources: Mapping[str, Any]) -> Any:
    """Intrinsic functions as CloudFormation would fill them in for this stage."""
    match value:
        case {"Ref": name}:
            return _PSEUDO.get(name) or _name(resources[name])
        case {"Fn::GetAtt": [name, "Arn"]}:
            return _ARNS[resources[name]["Type"]][1] + _name(resources[name])
        case {"Fn::Join": [separator, parts]}:
            return separator.join(_resolved(part, resources) for part in parts)
        case dict():
            return {key: _resolved(part, resources) for key, part in value.items()}
        case list():
            return [_resolved(part, resources) for part in value]
        case _:
            return value


def _name(resource: Mapping[str, Any]) -> str:
    return str(_resolved(resource["Properties"][_ARNS[resource["Type"]][0]], {}))


if __name__ == "__main__":
    sys.stdout.write(json.dumps(_document()))
