"""The real local stack under load, its workers killed at random; then every task is counted.

``python -m tests.soak.soak --seconds 120`` (``make soak SECONDS=120``) prints the figures and ends
non-zero unless nothing was lost, doubly effective or unaccounted, and every callback was told.
"""

from __future__ import annotations

import argparse
import os
import random
import sys
import time

from taskgate.apikeys import issue
from taskgate.aws import clients
from taskgate.aws.keys import DynamoKeys
from taskgate.aws.ports import build
from taskgate.client import Taskgate
from taskgate.local import LocalStack
from taskgate.principal import SCOPES
from taskgate.task import Owner
from taskgate.testing.receiver import Behaviour, Receiver, breaks_off, hangs, resets, says
from tests.soak.chaos import Chaos
from tests.soak.counting import Count
from tests.soak.figures import Figures
from tests.soak.load import Load

OWNER = Owner("soak", "tester")
SETTLE_SECONDS = 420
"""After the chaos: the longest way to an end on the local stage is a few sweeps of a minute."""
WELL = says(204)
ILL = (says(500), says(503, retry_after="3"), resets(), breaks_off(500), says(404), hangs(4))


def soaked(stack: LocalStack, seconds: float, seed: int) -> Figures:
    """Load and chaos for so long, then calm, then the count."""
    os.environ.update(stack.client_variables)
    ports, rng, figures = build(stack.environment), random.Random(seed), Figures()
    keys = DynamoKeys(clients.dynamodb(), table=stack.environment.tasks_table)
    key = issue(keys, OWNER, SCOPES, max_pending=100_000)
    with Taskgate(stack.api_url, key) as client:
        secrets = client.webhook_secrets()
    with Receiver(*_moods(rng), secrets=secrets) as receiver:
        until = time.monotonic() + seconds
        chaos = Chaos(stack, ports, OWNER, rng, figures)
        load = Load(stack.api_url, key, receiver.url, until, figures)
        load.start()
        while time.monotonic() < until:
            time.sleep(rng.uniform(0.5, 3))
            chaos.act()
            chaos.mend()
        load.join()
        chaos.mend(everything=True)
        receiver.script = [WELL]
        count = Count(stack, ports, OWNER, load.ids, figures)
        give_up = time.monotonic() + SETTLE_SECONDS
        while not count.settled() and time.monotonic() < give_up:
            chaos.mend()
            count.bring_forward()
            time.sleep(3)
        count.count(receiver.arrived)
    return figures


def _moods(rng: random.Random) -> list[Behaviour]:
    """A receiver that is ill every other time; the last one it keeps."""
    return [rng.choice((WELL, rng.choice(ILL))) for _ in range(2_000)]


def main() -> int:
    """Run and print; 0 only when all is accounted for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=120)
    parser.add_argument("--seed", type=int, default=1)
    asked = parser.parse_args()
    started = time.monotonic()
    with LocalStack() as stack:
        figures = soaked(stack, asked.seconds, asked.seed)
    for line in figures.lines():
        print(line)  # noqa: T201 - the figures are the product
    print(f"wall time            {time.monotonic() - started:.0f} s")  # noqa: T201
    return 0 if figures.good else 1


if __name__ == "__main__":
    sys.exit(main())
