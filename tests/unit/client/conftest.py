"""A gateway that says what the test tells it, and a client that does not really sleep."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from taskgate.client import Backoff, Clock, Taskgate
from taskgate.testing.fake_gateway import FakeGateway


class StillClock:
    """Time moves only when somebody sleeps."""

    def __init__(self) -> None:
        self.time = 0.0
        self.naps: list[float] = []

    def now(self) -> float:
        return self.time

    def sleep(self, seconds: float) -> None:
        self.naps.append(seconds)
        self.time += seconds


@pytest.fixture
def gateway() -> Iterator[FakeGateway]:
    with FakeGateway() as fake:
        yield fake


@pytest.fixture
def clock() -> StillClock:
    return StillClock()


@pytest.fixture
def client(gateway: FakeGateway, clock: StillClock) -> Iterator[Taskgate]:
    with Taskgate(
        gateway.url,
        "tg_key",
        backoff=Backoff(draw=lambda: 1.0),
        clock=Clock(clock.now, clock.sleep),
    ) as made:
        yield made
