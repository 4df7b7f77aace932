"""Nothing that a user wrote and no secret is in any log of a run through everything."""

from __future__ import annotations

import pytest

from tests.privilege.canaries import found_in
from tests.privilege.logs import logged
from tests.privilege.scene import TENANT
from tests.privilege.story import Story

pytestmark = [pytest.mark.e2e, pytest.mark.xdist_group("privilege")]

ROOMS = (
    "admin",
    "api",
    "authorizer",
    "dead-letter",
    "outbox-callback",
    "reconcile",
    "stale-sweep",
)


@pytest.fixture(scope="module")
def logs(story: Story) -> dict[str, str]:
    return logged(story.stack)


def test_no_log_holds_a_key_a_secret_an_input_a_result_a_reason_or_a_callbacks_address(
    story: Story, logs: dict[str, str]
) -> None:
    words = story.secrets.words
    assert len(words) >= 25
    found = {who: found_in(text, words) for who, text in logs.items()}
    assert {who: places for who, places in found.items() if places} == {}


def test_what_is_looked_through_is_what_every_room_and_worker_said(
    story: Story, logs: dict[str, str]
) -> None:
    rooms = {who.rpartition("c0-")[2]: text for who, text in logs.items()}
    assert all("START RequestId" in rooms[room] for room in ROOMS)
    assert f'"tenant":"{TENANT}"' in rooms["api"]
    assert '"transition"' in rooms["stale-sweep"]
    assert '"callback"' in rooms["outbox-callback"]
    # Only the story's: another test's worker on the same stack may have had nothing to do.
    assert story.workers
    assert all('"claimed"' in logs[worker.log.stem] for worker in story.workers)


def test_a_word_that_is_logged_would_be_found(logs: dict[str, str]) -> None:
    assert found_in("\n".join(logs.values()), {"the tenant": TENANT}) == ["the tenant"]
