"""The bucket in memory."""

from __future__ import annotations

from pathlib import Path


class MemoryResults:
    """Objects by key; the first put of a key wins."""

    def __init__(self) -> None:
        self.objects: dict[str, bytes] = {}

    def put(self, key: str, path: str, content_type: str) -> None:
        del content_type
        self.objects.setdefault(key, Path(path).read_bytes())

    def sign(self, key: str, seconds: int, download_name: str | None = None) -> str:
        return f"memory://{key}?seconds={seconds}&name={download_name or ''}"

    def fetch(self, key: str, path: str) -> None:
        Path(path).write_bytes(self.objects[key])

    def remove(self, prefix: str, keep: str = "") -> int:
        gone = [
            key
            for key in self.objects
            if key.startswith(prefix) and not (keep and key.startswith(keep))
        ]
        for key in gone:
            del self.objects[key]
        return len(gone)

    def read(self, key: str, most: int) -> bytes:
        return self.objects[key][:most]
