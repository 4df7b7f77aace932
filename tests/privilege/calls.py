"""A recorded request in IAM's words: which actions it needs, on what, under which leading keys."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

ACCOUNT: Final = "us-east-1:000000000000"


@dataclass(frozen=True, slots=True)
class Call:
    """One action of one role on one resource."""

    role: str
    action: str
    resource: str
    keys: tuple[str, ...] = ()
    """Partition key values of a DynamoDB action, as `dynamodb:LeadingKeys` gives them."""


class UnknownCall(Exception):
    """A request that this module cannot put into IAM's words: teach it, or it goes unchecked."""


def read_calls(record: Path) -> set[Call]:
    """All that was recorded, each once."""
    lines = record.read_text().splitlines()
    return {call for line in lines for call in calls_of(json.loads(line))}


def calls_of(line: Mapping[str, Any]) -> Iterator[Call]:
    """The actions that one request needs."""
    needs = _SERVICES.get(line["service"])
    if needs is None:
        raise UnknownCall(f"{line['service']} {line['operation']} {line['path']}")
    for action, resource, keys in needs(line):
        yield Call(line["role"], f"{line['service']}:{action}", resource, keys)


Need = tuple[str, str, tuple[str, ...]]

_MEMBERS: Final = {
    "Put": "PutItem",
    "Update": "UpdateItem",
    "Delete": "DeleteItem",
    "ConditionCheck": "ConditionCheckItem",
    "Get": "GetItem",
}


def _dynamodb(line: Mapping[str, Any]) -> Iterator[Need]:
    operation, body = line["operation"], json.loads(line["body"])
    if "TransactItems" in body:
        # A transaction is no action of its own: each part needs the right of its kind.
        for part in body["TransactItems"]:
            for member, detail in part.items():
                yield _MEMBERS[member], _table(detail["TableName"]), (_partition(detail),)
    elif operation == "BatchGetItem":
        for table, wanted in body["RequestItems"].items():
            yield operation, _table(table), tuple(key["pk"]["S"] for key in wanted["Keys"])
    elif operation == "Query":
        index = f"/index/{body['IndexName']}" if "IndexName" in body else ""
        yield operation, _table(body["TableName"]) + index, (_queried(body),)
    elif operation == "Scan":
        yield operation, _table(body["TableName"]), ()
    elif operation in _MEMBERS.values():
        yield operation, _table(body["TableName"]), (_partition(body),)
    else:
        raise UnknownCall(f"dynamodb {operation}")


def _table(name: str) -> str:
    return f"arn:aws:dynamodb:{ACCOUNT}:table/{name}"


def _partition(detail: Mapping[str, Any]) -> str:
    return str((detail.get("Key") or detail["Item"])["pk"]["S"])


def _queried(body: Mapping[str, Any]) -> str:
    """The partition key of a query: the one name that its condition compares by `=`."""
    found = re.match(r"#\w+ = (:\w+)", body["KeyConditionExpression"])
    if not found:
        raise UnknownCall(f"Query {body['KeyConditionExpression']}")
    return str(body["ExpressionAttributeValues"][found[1]]["S"])


def _sqs(line: Mapping[str, Any]) -> Iterator[Need]:
    queue = json.loads(line["body"])["QueueUrl"].rpartition("/")[2]
    yield line["operation"].removesuffix("Batch"), f"arn:aws:sqs:{ACCOUNT}:{queue}", ()


_OBJECT_ACTIONS: Final = {
    "GET": "GetObject",
    "HEAD": "GetObject",
    "PUT": "PutObject",
    "DELETE": "DeleteObject",
}


def _s3(line: Mapping[str, Any]) -> Iterator[Need]:
    bucket, _, key = line["path"].lstrip("/").partition("/")
    arn = f"arn:aws:s3:::{bucket}"
    if key and "uploadId" in line["query"] and line["method"] == "DELETE":
        yield "AbortMultipartUpload", f"{arn}/{key}", ()
    elif key and line["method"] == "POST":  # a large object begins and ends so; its parts are put
        yield "PutObject", f"{arn}/{key}", ()
    elif key:
        yield _OBJECT_ACTIONS[line["method"]], f"{arn}/{key}", ()
    elif "delete" in line["query"]:
        for gone in re.findall(r"<Key>([^<]+)</Key>", line["body"]):
            yield "DeleteObject", f"{arn}/{gone}", ()
    elif line["method"] == "GET":
        yield "ListBucket", arn, (line["query"].get("prefix", ""),)
    else:
        raise UnknownCall(f"s3 {line['method']} {line['path']} {line['query']}")


def _secretsmanager(line: Mapping[str, Any]) -> Iterator[Need]:
    secret = json.loads(line["body"])["SecretId"]
    # The name stands for the whole ARN, which ends in six characters of the service's choice.
    yield line["operation"], f"arn:aws:secretsmanager:{ACCOUNT}:secret:{secret}-AbCdEf", ()


def _events(line: Mapping[str, Any]) -> Iterator[Need]:
    for entry in json.loads(line["body"])["Entries"]:
        bus = entry.get("EventBusName", "default")
        yield line["operation"], f"arn:aws:events:{ACCOUNT}:event-bus/{bus}", ()


def _lambda(line: Mapping[str, Any]) -> Iterator[Need]:
    found = re.fullmatch(r"/2015-03-31/functions/([\w-]+)/invocations", line["path"])
    if not found:
        raise UnknownCall(f"lambda {line['method']} {line['path']}")
    yield "InvokeFunction", f"arn:aws:lambda:{ACCOUNT}:function:{found[1]}", ()


_SERVICES: Final = {
    "dynamodb": _dynamodb,
    "sqs": _sqs,
    "s3": _s3,
    "secretsmanager": _secretsmanager,
    "events": _events,
    "lambda": _lambda,
}
