"""Log lines of a worker: one JSON object each, on standard output."""

from __future__ import annotations

import json
import logging
import sys
import time
from typing import Any


class _Lines(logging.Formatter):
    def __init__(self, worker: str) -> None:
        super().__init__()
        self._worker = worker

    def format(self, record: logging.LogRecord) -> str:
        line = {"time": _utc(record.created), "level": record.levelname, "worker": self._worker}
        line |= _fields(record)
        if record.exc_info:
            line["traceback"] = self.formatException(record.exc_info)[-4000:]
        return json.dumps(line, default=str)


def log_to_stdout(worker: str) -> None:
    """Named events of ours as they are; other libraries' warnings as events called `log`."""
    handler = logging.StreamHandler(sys.stdout)
    handler.setFormatter(_Lines(worker))
    logging.basicConfig(level=logging.WARNING, handlers=[handler], force=True)
    logging.getLogger("taskgate").setLevel(logging.INFO)


def _fields(record: logging.LogRecord) -> dict[str, Any]:
    text = record.getMessage()
    if record.name == "taskgate" and text.startswith("{"):
        fields: dict[str, Any] = json.loads(text)
        return fields
    return {"event": "log", "logger": record.name, "message": text[:500]}


def _utc(seconds: float) -> str:
    whole = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(seconds))
    return f"{whole}.{int(seconds % 1 * 1000):03d}Z"
