from __future__ import annotations

from collections.abc import Iterator
from io import StringIO

import pytest

from functions.logs import json_logger
from taskgate.events import LOG
from tests.unit.functions.api_world import ENVIRONMENT, ApiWorld


@pytest.fixture(autouse=True)
def logged() -> Iterator[StringIO]:
    """What the API's logger writes; the loggers are as they were afterwards, for other tests."""
    handlers, propagate, filters = list(LOG.handlers), LOG.propagate, list(LOG.filters)
    handler = json_logger("api").registered_handler
    LOG.handlers, LOG.propagate = handlers, propagate
    buffer = StringIO()
    before = handler.setStream(buffer)  # type: ignore[attr-defined]
    yield buffer
    handler.setStream(before)  # type: ignore[attr-defined]
    LOG.handlers, LOG.propagate, LOG.filters = handlers, propagate, filters


@pytest.fixture
def api() -> ApiWorld:
    return ApiWorld()


@pytest.fixture
def environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """The process as the stack sets it up, for handlers that read it when they are imported."""
    for name, value in ENVIRONMENT.as_variables().items():
        monkeypatch.setenv(name, value)
