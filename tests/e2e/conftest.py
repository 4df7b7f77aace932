"""The local stack, deployed once a session; each pytest worker has one of its own."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from taskgate.local import LocalStack
from tests.privilege.scene import storied
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
    with LocalStack(folder=tmp_path_factory.mktemp("stack")) as stack:
        yield stack


@pytest.fixture(scope="session")
def story(tmp_path_factory) -> Iterator[Story]:
    """All that the deployed rooms do, done once, with every call and every log line kept.

    On a stack of its own: other tests' calls and lines would be taken for the rooms'.
    """
    folder, results = tmp_path_factory.mktemp("storied"), tmp_path_factory.mktemp("results")
    with storied(folder, folder / RECORD) as stack:
        story = Story(stack, folder / RECORD, results)
        story.run()
        yield story
