"""``make bench``: what our layers cost, each against the least that could do the same job.

Shared machines are noisy: only the ratios of one run count, never its absolute times. Each pair runs
in turn, A B A B …, and the median of the pairs is printed.
"""

from __future__ import annotations

import json
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

from boto3.dynamodb.types import TypeDeserializer, TypeSerializer

from functions.http.strict_json import parse
from taskgate.aws import clients
from taskgate.aws.codec import decode, encode
from taskgate.aws.ports import build
from taskgate.catalog import CATALOG
from taskgate.gateway.door import submitting
from taskgate.gateway.door.submitting import SubmitRequest
from taskgate.gateway.work.worker import Held, WorkerGateway
from taskgate.lifecycle.states import State
from taskgate.local.emulator import Emulator
from taskgate.ports import Ports
from taskgate.principal import SCOPES, Principal
from taskgate.settings import Environment
from taskgate.task import Owner
from taskgate.testing import aws_resources
from taskgate.testing.factories import task_in

ROUNDS: Final = 9
WHO: Final = Principal(Owner("acme", "bench"), SCOPES, 10**6, "key")
REQUEST: Final = SubmitRequest(type="embed_document", input={"text": "hello"}, priority="high")


def main() -> None:
    """All rows."""
    print(f"{'what':<46} {'ours':>10} {'least':>10} {'ratio':>7}")
    _codec()
    _strict_json()
    with tempfile.TemporaryDirectory() as folder:
        emulator = Emulator(Path(folder))
        try:
            _emulated_life(emulator)
        finally:
            emulator.stop()


def row(name: str, ours: Callable[[], Any], least: Callable[[], Any], times: int) -> None:
    """Print the medians in µs a call, and the median of the ratios of the pairs."""
    pairs = [(_timed(ours, times), _timed(least, times)) for _ in range(ROUNDS)]
    mine, floor = (statistics.median(p[i] for p in pairs) for i in (0, 1))
    ratio = statistics.median(a / b for a, b in pairs)
    print(f"{name:<46} {mine:>8.1f}µs {floor:>8.1f}µs {ratio:>7.2f}")


def _timed(call: Callable[[], Any], times: int) -> float:
    started = time.perf_counter()
    for _ in range(times):
        call()
    return (time.perf_counter() - started) / times * 1e6


def _codec() -> None:
    task = task_in(State.PROCESSING)
    item = encode(task, 16)
    plain = {name: TypeDeserializer().deserialize(value) for name, value in item.items()}
    serializer, deserializer = TypeSerializer(), TypeDeserializer()
    row(
        "a task as an item / the SDK's serializer",
        lambda: encode(task, 16),
        lambda: {k: serializer.serialize(v) for k, v in plain.items()},
        500,
    )
    row(
        "an item as a task / the SDK's deserializer",
        lambda: decode(item),
        lambda: {k: deserializer.deserialize(v) for k, v in item.items()},
        500,
    )


def _strict_json() -> None:
    body = json.dumps(
        {"type": "embed_document", "input": {"text": "x" * 2_000, "n": [1, 2.5] * 50}}
    )
    row("strict JSON of a 2.8 KB body / json.loads", lambda: parse(body.encode()), lambda: json.loads(body), 200)  # fmt: skip


def _emulated_life(emulator: Emulator) -> None:
    """Our verbs against the same AWS calls made by hand, on the emulator."""
    import os  # noqa: PLC0415 - only here is the process pointed at an emulator

    os.environ.update(emulator.client_variables)
    environment = aws_resources.create("bench")
    ports, bare = build(environment), _Bare(environment)
    row("a whole life on the emulator / its calls alone", lambda: _life(ports, environment), bare.life, 20)  # fmt: skip


def _life(ports: Ports, environment: Environment) -> None:
    """Submit, claim, beat, succeed without a file."""
    submitting.submit(ports, CATALOG, environment, WHO, REQUEST)
    worker = WorkerGateway(ports, CATALOG, environment, "bench")
    for delivery in ports.lanes.receive("cpu-high", wait=1):
        held = worker.claim(delivery)
        if isinstance(held, Held):
            worker.beat(held, 0.5, "embed")
            worker.succeed(held, [], "{}")


class _Bare:
    """The same calls of the same sizes, without a thought behind them."""

    def __init__(self, environment: Environment) -> None:
        self._db, self._sqs = clients.dynamodb(), clients.sqs()
        self._table, self._url = environment.tasks_table, environment.lanes["cpu-low"]
        self._item, self._n = encode(task_in(State.PROCESSING), 16), 0

    def life(self) -> None:
        self._n += 1
        key = {"pk": {"S": f"TASK#{self._n}"}, "sk": {"S": "TASK"}}
        puts = [{**self._item, "pk": key["pk"], "sk": {"S": s}} for s in ("TASK", "INPUT", "L")]
        self._transact(puts)
        self._sqs.send_message(QueueUrl=self._url, MessageBody="{}")
        self._update(key)
        [message] = self._sqs.receive_message(QueueUrl=self._url, WaitTimeSeconds=1)["Messages"]
        receipt = message["ReceiptHandle"]
        self._update(key)
        self._db.get_item(TableName=self._table, Key=key)  # type: ignore[arg-type]
        self._update(key)
        self._sqs.change_message_visibility(
            QueueUrl=self._url, ReceiptHandle=receipt, VisibilityTimeout=45
        )
        self._transact(puts[:2])
        self._sqs.delete_message(QueueUrl=self._url, ReceiptHandle=receipt)

    def _transact(self, items: list[Any]) -> None:
        puts: Any = [{"Put": {"TableName": self._table, "Item": item}} for item in items]
        self._db.transact_write_items(TransactItems=puts)

    def _update(self, key: Any) -> None:
        self._db.update_item(
            TableName=self._table,
            Key=key,
            UpdateExpression="SET #v = :v",
            ExpressionAttributeNames={"#v": "version"},
            ExpressionAttributeValues={":v": {"N": "1"}},
            ReturnValues="ALL_NEW",
        )


if __name__ == "__main__":
    main()
