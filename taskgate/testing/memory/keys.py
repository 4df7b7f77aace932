"""The API keys in memory."""

from __future__ import annotations

import threading
from dataclasses import replace

from taskgate.errors import IdTaken
from taskgate.keystore import ApiKey
from taskgate.pages import Page


class MemoryKeys:
    """The `KeyStore` port. `most` keys are on a page."""

    def __init__(self, most: int = 100) -> None:
        self._most, self._lock = most, threading.RLock()
        self._keys: dict[str, ApiKey] = {}

    def get_key(self, key_id: str) -> ApiKey | None:
        return self._keys.get(key_id)

    def put_key(self, key: ApiKey) -> None:
        with self._lock:
            if key.id in self._keys:
                raise IdTaken
            self._keys[key.id] = replace(key, version=key.version + 1)

    def change_key(self, key: ApiKey) -> bool:
        with self._lock:
            old = self._keys.get(key.id)
            if old is None or old.version != key.version:
                return False
            self._keys[key.id] = replace(key, version=key.version + 1)
            return True

    def list_keys(self, start: str | None = None) -> Page[ApiKey]:
        with self._lock:
            rest = sorted(i for i in self._keys if start is None or i > start)
            rows = [self._keys[i] for i in rest[: self._most]]
        return Page(rows, rows[-1].id if len(rest) > self._most else None)
