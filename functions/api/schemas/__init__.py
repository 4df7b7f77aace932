"""JSON Schemas of what goes in and out. A test holds every real answer to them."""

from __future__ import annotations

from functions.api import fleet
from functions.api.schemas import callbacks, events, explanations, queues, results, service, tasks
from functions.api.schemas.requests import requests
from functions.http.shapes import Schema


def components() -> dict[str, Schema]:
    """Every named schema."""
    return {
        **requests(),
        **tasks.SCHEMAS,
        **results.SCHEMAS,
        **explanations.SCHEMAS,
        **callbacks.SCHEMAS,
        **events.SCHEMAS,
        **queues.SCHEMAS,
        **fleet.SCHEMAS,
        **service.SCHEMAS,
        "Problem": service.problem(),
    }
