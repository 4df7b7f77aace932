"""The bucket in memory."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path

from taskgate.results import Fetched, Form, Stored


class FormRefused(Exception):
    """What was posted is not what the form was made for."""


class MemoryResults:
    """Objects by key; the first put of a key wins, and an upload takes the place of what was there."""

    def __init__(self) -> None:
        self.objects: dict[str, bytes] = {}
        self.told: dict[str, Stored] = {}
        """What uploaded objects say of themselves."""
        self.credentials_left = 6 * 3600
        """Seconds until what signs the links is itself good no more."""

    def put(self, key: str, path: str, content_type: str) -> bool:
        content = Path(path).read_bytes()
        if key not in self.objects:
            self.objects[key] = content
            self.told[key] = Stored(size=len(content), content_type=content_type)
        return self.objects[key] == content

    def sign(self, key: str, seconds: int, download_name: str | None = None) -> str:
        return f"memory://{key}?seconds={seconds}&name={download_name or ''}"

    def good_for(self, seconds: int) -> int:
        return min(seconds, self.credentials_left)

    def form(self, key: str, terms: Stored, seconds: int) -> Form:
        policy = json.dumps({**asdict(terms), "seconds": seconds})
        return Form("memory://results", {"key": key, "policy": policy})

    def post(self, form: Form, content: bytes) -> None:
        """What the bucket does with a form: size and checksum are held to the byte."""
        terms = json.loads(form.fields["policy"])
        terms.pop("seconds")
        stored = Stored(**terms)
        if len(content) != stored.size:
            raise FormRefused(f"{len(content)} bytes, not {stored.size}")
        if stored.sha256 and hashlib.sha256(content).hexdigest() != stored.sha256:
            raise FormRefused("other bytes than those of the checksum")
        self.objects[form.fields["key"]], self.told[form.fields["key"]] = content, stored

    def look(self, key: str) -> Stored | None:
        if key not in self.objects:
            return None
        plain = Stored(size=len(self.objects[key]), content_type="binary/octet-stream")
        return self.told.get(key, plain)

    def fetch(
        self, key: str, path: str, go_on: Callable[[], None] = lambda: None
    ) -> Fetched | None:
        stored = self.look(key)
        if stored is None:
            return None
        go_on()
        content = self.objects[key]
        Path(path).write_bytes(content)
        return Fetched(stored, hashlib.sha256(content).digest())

    def copy(self, source: str, target: str) -> bool:
        stored = self.look(source)
        if stored is None:
            return False
        self.objects[target], self.told[target] = self.objects[source], stored
        return True

    def remove(self, prefix: str, keep: str = "") -> int:
        gone = [
            key
            for key in self.objects
            if key.startswith(prefix) and not (keep and key.startswith(keep))
        ]
        for key in gone:
            del self.objects[key]
            self.told.pop(key, None)
        return len(gone)

    def read(self, key: str, most: int) -> bytes | None:
        return self.objects[key][:most] if key in self.objects else None
