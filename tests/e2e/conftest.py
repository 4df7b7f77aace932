"""The local stack, deployed once a session; each pytest worker has one of its own."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from taskgate.local import LocalStack


def pytest_collection_modifyitems(items):
    for item in items:
        if "tests/e2e" in item.path.as_posix():
            item.add_marker(pytest.mark.e2e)


@pytest.fixture(scope="session")
def stack(tmp_path_factory) -> Iterator[LocalStack]:
    """Emulator and stacks, without workers: start those that the test needs."""
    with LocalStack(folder=tmp_path_factory.mktemp("stack")) as stack:
        yield stack
