"""Every line that a deployed stack has logged, by who logged it."""

from __future__ import annotations

from taskgate.local import LocalStack


def logged(stack: LocalStack) -> dict[str, str]:
    """The whole text of each log group and of each worker's standard output."""
    client = stack.client("logs")
    groups = client.get_paginator("describe_log_groups").paginate()
    names = [group["logGroupName"] for page in groups for group in page["logGroups"]]
    workers = {log.stem: log.read_text() for log in stack.folder.glob("worker-*.log")}
    return {name: _text(client, name) for name in names} | workers


def _text(client: object, group: str) -> str:
    pages = client.get_paginator("filter_log_events").paginate(logGroupName=group)  # type: ignore[attr-defined]
    return "\n".join(event["message"] for page in pages for event in page["events"])
