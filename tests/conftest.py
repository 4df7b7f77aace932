"""Fixtures for every test: no credentials or endpoints leak in from the machine."""

from __future__ import annotations

import logging
from collections.abc import Iterator

import pytest

from taskgate.testing.dynamo_rules import watched

LONGEST_FIRST = (
    "@privilege",
    "@callbacks",
    "tests/contract/",
    "@verbs",
    "@templates",
    "tests/simulation/",
    "@dev",
    "@rules",
    "@demo",
    "@event-bus",
    "@otlp",
    "@local-stack",
    "@cors",
    "test_crash_points",
    "test_worker_processes",
)
"""What takes long begins early, so that at the end no process works on alone. Parts of tests' ids."""


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """In a process of ``--dist loadgroup``: groups are kept together, the longest come first."""
    if not getattr(config.option, "loadgroup", False):
        return
    for item in items:
        grouped = item.get_closest_marker("xdist_group") is not None
        if grouped and "@" not in item.nodeid.rpartition("]")[2]:
            raise pytest.UsageError(f"xdist does not keep groups together: {item.nodeid}")
    items.sort(key=_rank)


def _rank(item: pytest.Item) -> int:
    ranks = (n for n, part in enumerate(LONGEST_FIRST) if part in item.nodeid)
    return next(ranks, len(LONGEST_FIRST))


@pytest.fixture(autouse=True, scope="session")
def _no_real_aws() -> Iterator[None]:
    patch = pytest.MonkeyPatch()
    for name in ("AWS_PROFILE", "AWS_SESSION_TOKEN", "AWS_ENDPOINT_URL"):
        patch.delenv(name, raising=False)
    patch.setenv("AWS_ACCESS_KEY_ID", "test")
    patch.setenv("AWS_SECRET_ACCESS_KEY", "test")
    patch.setenv("AWS_DEFAULT_REGION", "eu-central-1")
    patch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    logging.getLogger("taskgate").setLevel(logging.DEBUG)
    yield
    patch.undo()


@pytest.fixture(autouse=True, scope="session")
def _dynamodb_is_as_strict_as_on_aws() -> Iterator[None]:
    with watched():
        yield


@pytest.fixture(autouse=True)
def _the_log_is_as_it_was() -> Iterator[None]:
    """A room that a test builds takes the log over; the next test hears what it would have heard alone."""
    log = logging.getLogger("taskgate")
    handlers, filters = list(log.handlers), list(log.filters)
    level, propagate = log.level, log.propagate
    yield
    log.handlers, log.filters = handlers, filters
    log.propagate = propagate
    log.setLevel(level)
