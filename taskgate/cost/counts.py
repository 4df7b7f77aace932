"""How much of everything a month uses: the load times the measured flows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from taskgate.cost.flows import Measured
from taskgate.cost.wish import Wish
from taskgate.settings import stage

MINUTES: Final = 30 * 24 * 60
HOURS: Final = 30 * 24
GB: Final = 1024**3
POLLERS: Final = 5
"""Long polls of 20 s that Lambda keeps at a queue which it reads, however quiet it is."""
ESM_POLLS: Final = POLLERS * 3 * MINUTES
WORKER_POLLS: Final = 60 * MINUTES
"""An idle worker listens a second at a lane (`TASKGATE_WATCH`): an upper bound, a busy one polls less."""
REQUEST_LINES: Final = 350 + 400 + 300
"""Log bytes of an HTTP request: our line, the access log's, and Lambda's own."""
LAMBDA_LINES: Final = 300
MEMORY_GB: Final = {"api": 1.0, "authorizer": 0.5, "outbox_callback": 0.5, "stale_sweep": 0.5}
"""As `cdk_app` gives it; a test holds the two together."""
ALARMS: Final = 33
METRICS: Final = 60
"""Custom metrics with each of their labels, about, for two task types."""


@dataclass(frozen=True, slots=True)
class Count:
    """So much of one priced thing: `price` names it in `prices.toml`, `how` says where it is from."""

    service: str
    price: str
    amount: float
    how: str


def counts(wish: Wish, known: Measured) -> list[Count]:
    """All of a month, service by service."""
    return [
        *_front(wish),
        *_functions(wish),
        *_table(wish, known),
        *_queues(wish, known),
        *_bytes(wish, known),
        *_watching(wish, known),
        *_options(wish),
    ]


def _requests(wish: Wish) -> float:
    """Submit, polls, and one for the result."""
    return wish.tasks * (2 + wish.polls)


def _authorized(wish: Wish) -> float:
    return min(_requests(wish), wish.callers * MINUTES)


def _beats(wish: Wish) -> float:
    return wish.tasks * (wish.run_seconds // stage("prod").timing.beat)


def _looks(wish: Wish) -> float:
    """The sweep's looks at runs: their lazy clock passes it about once a minute."""
    return wish.tasks * (wish.run_seconds // stage("prod").timing.sweep_every)


def _front(wish: Wish) -> list[Count]:
    how = f"submit + {wish.polls:g} polls + result"
    return [Count("HTTP API", "million.http_api_requests", _requests(wish), how)]


def _functions(wish: Wish) -> list[Count]:
    runs = {
        "api": (_requests(wish), wish.api_ms / 1000),
        "authorizer": (_authorized(wish), 0.02),
        # One for the stream's record, one for the errand; each minute the backstop.
        "outbox_callback": (wish.tasks * 2 + MINUTES, wish.outbox_ms / 1000 / 2),
        "stale_sweep": (float(MINUTES), 0.5),
    }
    invocations = sum(count for count, _ in runs.values())
    gb_seconds = sum(count * seconds * MEMORY_GB[room] for room, (count, seconds) in runs.items())
    return [
        Count("Lambda", "million.lambda_requests", invocations, "API, authorizer, outbox, sweep"),
        Count("Lambda", "million.lambda_gb_seconds", gb_seconds, f"{wish.api_ms:g} ms a request"),
    ]


def _table(wish: Wish, known: Measured) -> list[Count]:
    once, flows = ("submit", "claim", "finish", "callback", "result"), known.flows
    times = {**dict.fromkeys(once, wish.tasks), "status": wish.tasks * wish.polls}
    times |= {"beat": _beats(wish), "look": _looks(wish), "sweep": float(MINUTES)}
    # The outbox reads as many owed clocks as the sweep reads live ones.
    times |= {"authorize": _authorized(wish)}
    writes = sum(n * flows[flow].write_units for flow, n in times.items())
    reads = sum(n * flows[flow].read_units for flow, n in times.items())
    reads += MINUTES * flows["sweep"].read_units
    stored = wish.tasks * wish.record_months * known.task_bytes / GB
    each = sum(flows[flow].write_units for flow in once)
    return [
        Count(
            "DynamoDB", "million.dynamodb_write_units", writes, f"{each:g} a task + beats, looks"
        ),
        Count("DynamoDB", "million.dynamodb_read_units", reads, "claims, polls, results, sweeps"),
        Count("DynamoDB", "gigabyte_month.dynamodb", stored, f"{known.task_bytes} bytes a task"),
        Count("DynamoDB", "gigabyte_month.dynamodb_pitr", stored, "point-in-time recovery"),
    ]


def _queues(wish: Wish, known: Measured) -> list[Count]:
    flows = known.flows
    times = dict.fromkeys(("submit", "claim", "finish", "callback"), wish.tasks)
    used = sum(n * flows[flow].requests("sqs") for flow, n in times.items())
    used += _beats(wish) * flows["beat"].requests("sqs")
    used += 2 * wish.tasks  # Lambda receives and deletes the errand
    idle = (wish.lanes + 1) * ESM_POLLS + wish.workers * WORKER_POLLS
    how = f"Lambda at {wish.lanes} dead-letter queues and the errands, {wish.workers} workers"
    return [
        Count("SQS", "million.sqs_requests", used, "message, errand, beats"),
        Count("SQS", "million.sqs_fair_messages", wish.tasks, "messages are grouped by tenant"),
        Count("SQS", "million.sqs_requests", float(idle), f"idle: {how}"),
    ]


def _bytes(wish: Wish, known: Measured) -> list[Count]:
    puts = wish.tasks * known.flows["finish"].requests("s3_put")
    gigabytes = wish.tasks * wish.result_mb / 1024
    return [
        Count("S3", "million.s3_puts", puts, "one file a result"),
        Count("S3", "million.s3_gets", wish.tasks * wish.downloads, "downloads"),
        Count("S3", "gigabyte_month.s3", gigabytes * wish.result_days / 30, "results kept"),
        Count("Transfer", "gigabyte.transfer_out", gigabytes * wish.downloads, "downloads"),
    ]


def _watching(wish: Wish, known: Measured) -> list[Count]:
    flows = known.flows
    each = sum(flows[flow].log_bytes for flow in ("submit", "claim", "finish", "callback"))
    lines = _requests(wish) * REQUEST_LINES + wish.tasks * (each + 2 * LAMBDA_LINES)
    lines += MINUTES * (flows["sweep"].log_bytes + LAMBDA_LINES) * 2
    return [
        Count("CloudWatch", "gigabyte.logs_ingested", lines / GB, "a line a request and a change"),
        Count("CloudWatch", "gigabyte_month.logs", lines / GB, "kept a month"),
        Count("CloudWatch", "month.metric", METRICS, "metrics with their labels, about"),
        Count("CloudWatch", "month.alarm", ALARMS, "alarms"),
        Count("CloudWatch", "month.dashboard", 1, "dashboard"),
        Count("Secrets", "month.secret", 1, "the webhook master"),
    ]


def _options(wish: Wish) -> list[Count]:
    found = []
    if wish.event_bus:
        # created, queued, processing, succeeded
        found.append(Count("EventBridge", "million.eventbridge_events", 4 * wish.tasks, "events"))
    if wish.nats:
        found.append(Count("Network", "hour.nat_gateway", wish.nats * HOURS, "NAT gateways"))
        through = wish.tasks * wish.result_mb / 1024
        found.append(
            Count("Network", "gigabyte.nat_processed", through, "results, without endpoints")
        )
    if wish.endpoints:
        standing = wish.endpoints * HOURS
        found.append(Count("Network", "hour.endpoint", standing, "interface endpoints"))
    if wish.gpu:
        hours = wish.tasks * wish.run_seconds / 3600 / wish.busy
        how = f"{wish.run_seconds:g} s a task, {wish.busy:.0%} busy"
        found.append(Count("GPU", f"hour.{wish.gpu}", hours, how))
    return found
