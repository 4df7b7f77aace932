"""What a month is to hold: the question that a bill answers."""

from __future__ import annotations

from dataclasses import dataclass

from taskgate.errors import BadSetting


@dataclass(frozen=True, slots=True, kw_only=True)
class Wish:
    """A month's load. Everything that was not measured is a number here, to be changed."""

    tasks: float = 1e6
    polls: float = 3
    """Status requests a task."""
    result_mb: float = 1
    run_seconds: float = 10
    downloads: float = 1
    """How often a result is fetched over the internet; 0 when it is used inside the Region."""
    callers: int = 10
    """API keys that are in use at any time: each is looked up once a minute."""
    workers: int = 2
    """Worker processes that are up all month; each listens at its lanes when it is idle."""
    lanes: int = 6
    result_days: int = 30
    record_months: float = 3
    """Months of tasks that the table holds: their records stay."""
    event_bus: bool = False
    nats: int = 0
    endpoints: int = 0
    """Interface endpoints, counted in each zone."""
    gpu: str | None = None
    """An instance type of `prices.toml`; the instances then run as long as the tasks take."""
    busy: float = 0.6
    """Share of an instance's paid time in which it runs tasks."""
    api_ms: float = 25
    """Billed time of one request; a submit takes longer, a status less."""
    outbox_ms: float = 150
    """Billed time of one callback; a slow receiver makes it more."""

    def __post_init__(self) -> None:
        for name in ("tasks", "busy"):
            if getattr(self, name) <= 0:
                raise BadSetting(name, getattr(self, name), "above 0")
        if self.busy > 1:
            raise BadSetting("busy", self.busy, "at most 1")
        for name in ("polls", "result_mb", "run_seconds", "downloads"):
            if getattr(self, name) < 0:
                raise BadSetting(name, getattr(self, name), "at least 0")
