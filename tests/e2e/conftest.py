"""The local stack, deployed once a session; each pytest worker has one of its own."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from taskgate.local import LocalStack
from tests.privilege.story import Story

RECORD = "calls.jsonl"
"""In the stack's folder: what was called under which role."""


def pytest_collection_modifyitems(items):
    for item in items:
        if "tests/e2e" in item.path.as_posix():
            item.add_marker(pytest.mark.e2e)


@pytest.fixture(scope="session")
def stack(tmp_path_factory) -> Iterator[LocalStack]:
    """Emulator and stacks, without workers: start those that the test needs."""
    folder = tmp_path_factory.mktemp("stack")
    with LocalStack(folder=folder, record=folder / RECORD) as stack:
        yield stack


@pytest.fixture(scope="session")
def story(stack: LocalStack, tmp_path_factory) -> Story:
    """All that the deployed rooms do, done once, with every call and every log line kept."""
    story = Story(stack, stack.folder / RECORD, tmp_path_factory.mktemp("results"))
    story.run()
    return story
