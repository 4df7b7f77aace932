"""The breaker of a receiver: how well a host has answered lately, and who may try it next. Pure.

Closed, every task goes. After `FAILURES` signs of illness in a row, over any tasks, it opens: tasks
for this receiver are put off, and one at a time may probe. A probe that gets an answer closes it. While
it is open, tasks line up for slots of their own, so that the end of an outage is no storm.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from enum import StrEnum
from hashlib import sha256
from typing import Final, Protocol
from urllib.parse import urlsplit

from taskgate.pages import Page

FAILURES: Final = 5
FIRST_PROBE_MS: Final = 30_000
LAST_PROBE_MS: Final = 15 * 60_000
PROBING_MS: Final = 20_000
"""So long nobody else probes: longer than a whole attempt may take, so a lost prober is replaced."""
SLOT_MS: Final = 100
"""Between two tasks of a receiver's line: a backlog goes out at 10 a second."""
LATE_MS: Final = 60_000
"""So late a task of a line may be brought, by the queue or by the backstop."""


class Breaker(StrEnum):
    """Where the breaker of a receiver stands."""

    CLOSED = "closed"
    """All is well."""
    FAILING = "failing"
    """It shows signs of illness; every task still goes."""
    OPEN = "open"
    """One task at a time probes; the others are put off."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Health:
    """One receiver, as last recorded. Times are epoch ms. Nothing recorded means all is well."""

    failures: int = 0
    """Signs of illness in a row; while open, failed probes count on."""
    opened_at: int | None = None
    next_probe_at: int = 0
    version: int = 0
    """Of the stored record; a write names the one that it saw."""
    line_at: int = field(default=0, compare=False)
    """The next free slot of its line; only read."""

    @property
    def is_open(self) -> bool:
        return self.opened_at is not None

    @property
    def breaker(self) -> Breaker:
        """How its breaker stands."""
        if self.is_open:
            return Breaker.OPEN
        return Breaker.FAILING if self.failures else Breaker.CLOSED


@dataclass(frozen=True, slots=True, kw_only=True)
class Unwell:
    """A receiver that shows signs of illness, whether its breaker is open or not yet."""

    receiver: str
    """Its key."""
    health: Health

    @property
    def tenant(self) -> str:
        return self.receiver.partition("|")[0]

    @property
    def address(self) -> str:
        """Host and port, as the tenant's URL spells them."""
        return self.receiver.partition("|")[2]


class Receivers(Protocol):
    """One record for each receiver, with its line. Ephemeral: losing it costs a few attempts."""

    def get(self, receiver: str) -> Health:
        """What is recorded; a fresh `Health` when nothing is."""
        ...

    def swap(self, receiver: str, seen: Health, new: Health) -> Health | None:
        """Record `new` and return it with its version; None when others wrote since `seen`."""
        ...

    def unwell(
        self, limit: int, start: str | None = None, tenant: str | None = None
    ) -> Page[Unwell]:
        """Receivers that are not well, of every tenant or of one; `start` is a page's `next`.

        For people, now and then: on DynamoDB it is one step of a scan. A page may be short or
        empty; only the last one comes without a `next`.
        """
        ...

    def line_up(self, receiver: str, not_before: int, interval_ms: int) -> int:
        """Take the receiver's next slot and return when it is: never before `not_before`, and
        `interval_ms` after the slot that was given out before it.
        """
        ...


def receiver_of(tenant: str, host: str, port: int) -> str:
    """The key of a receiver. Of one tenant: another's broken hook on a shared host is not ours."""
    return f"{tenant}|{host}:{port}"


def receiver_at(tenant: str, url: str) -> str:
    """The key of the receiver that a tenant's callback URL leads to."""
    parts = urlsplit(url)
    port = parts.port or (80 if parts.scheme == "http" else 443)
    return receiver_of(tenant, parts.hostname or "", port)


def mark_of(receiver: str) -> str:
    """What stands for a receiver in logs: a host is what a user wrote, and never logged."""
    return sha256(receiver.encode()).hexdigest()[:12]


def probing(seen: Health, now: int) -> Health:
    """The record while one probe is under way."""
    return replace(seen, next_probe_at=now + PROBING_MS)


def answered(seen: Health) -> Health:
    """The host answered like one that is well."""
    return Health(version=seen.version)


def failed(seen: Health, now: int, draw: float, *, probe: bool) -> Health:
    """The host showed that it is ill. Open, only the probe counts: the others set out before."""
    if seen.is_open and not probe:
        return seen
    failures = seen.failures + 1
    if failures < FAILURES:
        return replace(seen, failures=failures)
    return Health(
        failures=failures,
        opened_at=now if seen.opened_at is None else seen.opened_at,
        next_probe_at=now + _pause(failures - FAILURES, draw),
        version=seen.version,
    )


def _pause(failed_probes: int, draw: float) -> int:
    # Bounded before the power: a record may count for months.
    pause = min(LAST_PROBE_MS, FIRST_PROBE_MS << min(failed_probes, 10))
    return round(pause * (0.8 + 0.2 * draw))
