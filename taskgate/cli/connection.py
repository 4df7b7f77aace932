"""Which gateway a command speaks to: options, then the environment, then the local stack's note."""

from __future__ import annotations

import json
import logging
import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Final

from taskgate.cli.printing import aside
from taskgate.client import Taskgate

NOTE: Final = Path(".taskgate") / "local.json"


@dataclass(frozen=True, slots=True)
class LocalNote:
    """What `taskgate dev` leaves in the checkout for the commands beside it."""

    url: str
    api_key: str
    endpoint: str

    def write(self, folder: Path) -> Path:
        """Write it readable by its owner only: it holds a key."""
        path = folder / NOTE
        path.parent.mkdir(mode=0o700, exist_ok=True)
        path.unlink(missing_ok=True)
        with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as out:
            json.dump(asdict(self), out, indent=2)
        return path


@dataclass(frozen=True, slots=True)
class Connection:
    """The address and key of one gateway; None where nobody named them."""

    url: str | None = None
    api_key: str | None = None

    def client(self) -> Taskgate:
        """A client; raises `NotConfigured` when address or key is missing."""
        tell_of_tries()
        return Taskgate(self.url, self.api_key)


class Asides(logging.Handler):
    """What a library says on the way, to the person at the terminal."""

    def emit(self, record: logging.LogRecord) -> None:
        aside(record.getMessage())


def tell_of_tries() -> None:
    """A command that waits because it was asked to must not look as if it hung."""
    log = logging.getLogger("taskgate.client")
    log.setLevel(logging.INFO)
    if not any(isinstance(handler, Asides) for handler in log.handlers):
        log.addHandler(Asides())


def connect(url: str | None, api_key: str | None, environ: Mapping[str, str]) -> Connection:
    """The connection that options, environment and note describe.

    The note counts only when nothing else is given: its key must not go to another's address.
    """
    url = url or environ.get("TASKGATE_URL") or None
    api_key = api_key or environ.get("TASKGATE_API_KEY") or None
    note = None if url or api_key else find_note(Path.cwd())
    return Connection(note.url, note.api_key) if note else Connection(url, api_key)


def find_note(start: Path) -> LocalNote | None:
    """The note in this folder or the nearest one above; None when there is none to read."""
    for folder in (start, *start.parents):
        try:
            found = json.loads((folder / NOTE).read_text())
            return LocalNote(found["url"], found["api_key"], found["endpoint"])
        except (OSError, ValueError, KeyError, TypeError):
            continue
    return None
