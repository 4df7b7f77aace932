"""The roles of a deployed stack: what each allows, and what Lambda itself calls under it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

from taskgate.local import LocalStack
from tests.privilege.calls import Call
from tests.privilege.rights import Statement, statements_of

QUEUE_READS: Final = ("sqs:ReceiveMessage", "sqs:DeleteMessage", "sqs:GetQueueAttributes")
STREAM_READS: Final = (
    "dynamodb:DescribeStream",
    "dynamodb:GetRecords",
    "dynamodb:GetShardIterator",
)
LOG_WRITES: Final = ("logs:CreateLogStream", "logs:PutLogEvents")


@dataclass(frozen=True, slots=True)
class Role:
    """One room's role."""

    room: str
    name: str
    statements: tuple[Statement, ...]
    by_lambda: frozenset[Call]
    """Calls that the Lambda service makes under the role. The emulator makes them without it, so
    they are not recorded but follow from what the function is wired to."""


def roles(stack: LocalStack) -> list[Role]:
    """One for each function that is deployed."""
    functions = stack.client("lambda").list_functions(MaxItems=50)["Functions"]
    return [_role(stack, function) for function in functions]


def _role(stack: LocalStack, function: dict[str, Any]) -> Role:
    name = function["Role"].rpartition("/")[2]
    room = function["Handler"].split(".")[1]
    by_lambda = frozenset(_by_lambda(stack, function, name))
    return Role(room, name, tuple(_statements(stack, name)), by_lambda)


def _statements(stack: LocalStack, role: str) -> Iterator[Statement]:
    iam = stack.client("iam")
    if iam.list_attached_role_policies(RoleName=role)["AttachedPolicies"]:
        raise ValueError(f"{role} has a managed policy: nobody here says what is in it")
    for policy in iam.list_role_policies(RoleName=role)["PolicyNames"]:
        document = iam.get_role_policy(RoleName=role, PolicyName=policy)["PolicyDocument"]
        yield from statements_of(document)


def _by_lambda(stack: LocalStack, function: dict[str, Any], role: str) -> Iterator[Call]:
    group = function["LoggingConfig"]["LogGroup"]
    for action in LOG_WRITES:
        yield Call(role, action, f"arn:aws:logs:us-east-1:000000000000:log-group:{group}:*")
    client, name = stack.client("lambda"), function["FunctionName"]
    mappings = client.list_event_source_mappings(FunctionName=name)["EventSourceMappings"]
    for source in (mapping["EventSourceArn"] for mapping in mappings):
        if ":sqs:" in source:
            yield from (Call(role, action, source) for action in QUEUE_READS)
        else:
            yield from (Call(role, action, source) for action in STREAM_READS)
            yield Call(role, "dynamodb:ListStreams", "*")
