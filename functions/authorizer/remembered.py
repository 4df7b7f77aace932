"""Keys and plans in memory for a moment: known ones to save reads, unknown ones against guessing."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from typing import Final, Generic, TypeVar

from taskgate.keystore import ApiKey, Keys
from taskgate.plans import Plan, Plans

T = TypeVar("T")
SECONDS: Final = 10
"""HTTP API remembers answers by itself; this adds no more than so much to a revocation's lag."""
MOST: Final = 5000


class _Remembered(Generic[T]):
    def __init__(self, read: Callable[[str], T], now_seconds: Callable[[], float]) -> None:
        self._read, self._now = read, now_seconds
        self._known: OrderedDict[str, tuple[float, T]] = OrderedDict()

    def get(self, name: str) -> T:
        if name in self._known:
            until, value = self._known[name]
            if self._now() < until:
                return value
        value = self._read(name)
        self._keep(name, value)
        return value

    def _keep(self, name: str, value: T) -> None:
        self._known[name] = (self._now() + SECONDS, value)
        self._known.move_to_end(name)
        if len(self._known) > MOST:
            self._known.popitem(last=False)


class RememberedKeys:
    """`Keys` before others. Records are kept, not verdicts: secret and expiry are looked at each
    time, and a wrong secret for a known key costs no read.
    """

    def __init__(self, keys: Keys, now_seconds: Callable[[], float]) -> None:
        self._keys: _Remembered[ApiKey | None] = _Remembered(keys.get_key, now_seconds)

    def get_key(self, key_id: str) -> ApiKey | None:
        return self._keys.get(key_id)


class RememberedPlans:
    """`Plans` before others: a plan that is set anew counts within `SECONDS` here."""

    def __init__(self, plans: Plans, now_seconds: Callable[[], float]) -> None:
        self._plans: _Remembered[Plan | None] = _Remembered(plans.get_plan, now_seconds)

    def get_plan(self, name: str) -> Plan | None:
        return self._plans.get(name)
