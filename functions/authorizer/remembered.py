"""API keys in memory for a moment: known ones to save reads, unknown ones against guessing."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from typing import Final

from taskgate.keystore import ApiKey, Keys

SECONDS: Final = 10
"""HTTP API remembers answers by itself; this adds no more than so much to a revocation's lag."""
MOST: Final = 5000


class RememberedKeys:
    """A `Keys` before another. Records are kept, not verdicts: secret and expiry are looked at
    each time, and a wrong secret for a known key costs no read.
    """

    def __init__(self, keys: Keys, now_seconds: Callable[[], float]) -> None:
        self._keys, self._now = keys, now_seconds
        self._known: OrderedDict[str, tuple[float, ApiKey | None]] = OrderedDict()

    def get_key(self, key_id: str) -> ApiKey | None:
        until, key = self._known.get(key_id, (0.0, None))
        if self._now() < until:
            return key
        key = self._keys.get_key(key_id)
        self._keep(key_id, key)
        return key

    def _keep(self, key_id: str, key: ApiKey | None) -> None:
        self._known[key_id] = (self._now() + SECONDS, key)
        self._known.move_to_end(key_id)
        if len(self._known) > MOST:
            self._known.popitem(last=False)
