"""Counts times prices."""

from __future__ import annotations

import tomllib
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from taskgate.cost.counts import Count, counts
from taskgate.cost.flows import measured
from taskgate.cost.wish import Wish
from taskgate.errors import BadSetting

PRICES: Final = Path(__file__).parent / "prices.toml"
_PER: Final = {"million": 1e6}


@dataclass(frozen=True, slots=True)
class Line:
    """One count with its price."""

    count: Count
    dollars: float


@dataclass(frozen=True, slots=True)
class Bill:
    """A month's bill."""

    lines: tuple[Line, ...]
    region: str
    as_of: str

    @property
    def total(self) -> float:
        return sum(line.dollars for line in self.lines)

    @property
    def by_service(self) -> Mapping[str, float]:
        """Dollars by service, in the order of the lines."""
        totals: Counter[str] = Counter()
        for line in self.lines:
            totals[line.count.service] += line.dollars  # type: ignore[assignment]
        return totals


def bill(wish: Wish) -> Bill:
    """What a month of this would cost."""
    prices = tomllib.loads(PRICES.read_text())
    lines = (Line(count, _dollars(count, prices)) for count in counts(wish, measured()))
    return Bill(tuple(lines), prices["region"], prices["as_of"])


def instances() -> list[str]:
    """The instance types that have a price."""
    return [name for name in tomllib.loads(PRICES.read_text())["hour"] if "." in name]


def _dollars(count: Count, prices: Mapping[str, Any]) -> float:
    unit, _, name = count.price.partition(".")
    if name not in prices[unit]:
        raise BadSetting(name, name, "one of " + ", ".join(instances()))
    return float(count.amount / _PER.get(unit, 1) * prices[unit][name])
