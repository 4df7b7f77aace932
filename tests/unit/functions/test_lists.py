"""Lists by filter: all that fits is found, whatever the pages, and nothing else."""

from __future__ import annotations

from typing import Any

import pytest

from taskgate.principal import Principal
from tests.unit.functions.api_world import ADA, PROMPT, ApiWorld
from tests.unit.functions.ports_between import counting

RICH = Principal(ADA.owner, ADA.scopes, 10_000, "k1")
DOCUMENT = {"type": "embed_document", "input": {"text": "hello"}}


def _pages(api: ApiWorld, **query: str) -> list[list[str]]:
    found, query = [], {name.replace("__", "."): text for name, text in query.items()}
    while True:
        page = api.get("/v1/tasks", query=query).json
        found.append([task["id"] for task in page["tasks"]])
        if page["next_cursor"] is None:
            return found
        query["cursor"] = page["next_cursor"]


def _all(api: ApiWorld, **query: str) -> list[str]:
    return [task_id for page in _pages(api, **query) for task_id in page]


def _some(api: ApiWorld, count: int, **more: Any) -> list[str]:
    """The newest first."""
    ids = []
    for _ in range(count):
        ids.append(api.submitted({**PROMPT, **more}, RICH))
        api.world.clock.advance(1)
    return ids[::-1]


def test_a_list_by_state_holds_those_and_no_others(api: ApiWorld) -> None:
    waiting = _some(api, 3)
    gone = _some(api, 2)
    for task_id in gone:
        api.post(f"/v1/tasks/{task_id}/cancel")
    assert _all(api, state="queued") == waiting
    assert _all(api, state="canceled") == gone
    assert _all(api, state="cancelled") == gone
    assert _all(api, state="queued, canceled") == gone + waiting
    assert _all(api, state="failed") == []


def test_a_list_by_type(api: ApiWorld) -> None:
    pictures = _some(api, 2)
    documents = [api.submitted(DOCUMENT)]
    assert _all(api, type="text_to_image") == pictures
    assert _all(api, type="embed_document") == documents
    assert _all(api, type="mine_bitcoin") == []


def test_a_list_by_label(api: ApiWorld) -> None:
    mine = _some(api, 2, metadata={"run": "7", "who": "x"})
    _some(api, 2, metadata={"run": "8"})
    _some(api, 1)
    assert _all(api, metadata__run="7") == mine
    assert _all(api, metadata__run="7", metadata__who="x") == mine
    assert _all(api, metadata__run="7", metadata__who="y") == []
    assert _all(api, metadata__none="") == []


def test_since_is_within_and_until_is_not(api: ApiWorld) -> None:
    ids = _some(api, 6)
    at = {task_id: api.get(f"/v1/tasks/{task_id}").json["created_at"] for task_id in ids}
    assert _all(api, since=at[ids[2]]) == ids[:3]
    assert _all(api, until=at[ids[2]]) == ids[3:]
    assert _all(api, since=at[ids[4]], until=at[ids[1]], limit="2") == ids[2:5]
    assert _all(api, since="2026-09-21T16:13:25+02:00") == ids[:1]
    assert _all(api, since="2026-09-21T16:13:25 02:00") == ids[:1], "a + that was not escaped"
    assert _all(api, until="0001-01-01T00:00:00Z") == []
    assert _all(api, until="9999-12-31T23:59:59Z") == ids


@pytest.mark.parametrize("milliseconds", range(0, 1000, 77))
def test_the_edge_of_a_time_holds_to_the_millisecond(api: ApiWorld, milliseconds: int) -> None:
    api.world.clock.advance(milliseconds / 1000)
    task_id = api.submitted()
    created = api.get(f"/v1/tasks/{task_id}").json["created_at"]
    assert _all(api, since=created) == [task_id]
    assert _all(api, until=created) == []


def test_a_list_until_long_ago_reads_nothing_of_what_is_newer() -> None:
    calls: list[str] = []
    api = ApiWorld(between=counting(calls))
    _some(api, 300)
    calls.clear()
    assert _all(api, until="2026-09-21T14:13:21Z", limit="1") != []
    assert calls == ["tasks.list_by_owner"]


def test_a_list_since_lately_stops_at_the_first_that_is_older() -> None:
    calls: list[str] = []
    api = ApiWorld(between=counting(calls))
    ids = _some(api, 300)
    since = api.get(f"/v1/tasks/{ids[0]}").json["created_at"]
    calls.clear()
    assert _all(api, since=since, state="queued") == ids[:1]
    assert calls == ["tasks.list_by_owner"]


def test_one_needle_in_a_haystack_is_found_by_following_the_cursors(api: ApiWorld) -> None:
    needle = api.submitted({**PROMPT, "metadata": {"needle": "yes"}}, RICH)
    api.world.clock.advance(1)
    _some(api, 1100)
    pages = _pages(api, metadata__needle="yes")
    assert pages == [[], [], [needle]]


@pytest.mark.parametrize("limit", ["1", "2", "3", "7", "100"])
def test_a_filtered_list_of_any_page_size_pages_to_the_end_without_a_gap_or_a_repeat(
    api: ApiWorld, limit: str
) -> None:
    ids = []
    for n in range(12):
        ids.append(api.submitted({**PROMPT, "metadata": {"even": str(n % 2)}}))
        api.world.clock.advance(1)
    pages = _pages(api, metadata__even="0", limit=limit)
    assert [i for page in pages for i in page] == ids[::2][::-1]
    assert all(len(page) <= int(limit) for page in pages)


def test_a_last_page_that_is_just_full_has_no_cursor(api: ApiWorld) -> None:
    _some(api, 3)
    assert len(_pages(api, limit="3")) == 1
    assert len(_pages(api, limit="3", state="queued")) == 1


def test_a_cursor_leads_on_by_its_own_filter_only(api: ApiWorld) -> None:
    _some(api, 3, metadata={"run": "7"})
    query = {"limit": "1", "state": "queued", "metadata.run": "7"}
    cursor = api.get("/v1/tasks", query=query).json["next_cursor"]
    assert api.get("/v1/tasks", query={**query, "cursor": cursor}).status == 200
    others: list[dict[str, str]] = [
        {"limit": "1"},
        {**query, "state": "failed"},
        {**query, "metadata.run": "8"},
        {**query, "type": "text_to_image"},
        {**query, "since": "2026-01-01T00:00:00Z"},
    ]
    for other in others:
        answer = api.get("/v1/tasks", query={**other, "cursor": cursor})
        assert (answer.status, answer.code) == (422, "bad_cursor")


def test_the_same_filter_written_otherwise_takes_the_cursor(api: ApiWorld) -> None:
    _some(api, 3)
    cursor = api.get("/v1/tasks", query={"limit": "1", "state": "queued,failed"}).json[
        "next_cursor"
    ]
    again = {"state": "failed, queued", "cursor": cursor, "limit": "100"}
    assert len(api.get("/v1/tasks", query=again).json["tasks"]) == 2


def test_a_plain_page_takes_one_look_at_the_store() -> None:
    calls: list[str] = []
    api = ApiWorld(between=counting(calls))
    _some(api, 5)
    calls.clear()
    api.get("/v1/tasks", query={"limit": "2"})
    assert calls == ["tasks.list_by_owner"]


def test_a_page_by_filter_takes_five_looks_at_most() -> None:
    calls: list[str] = []
    api = ApiWorld(between=counting(calls))
    _some(api, 700)
    calls.clear()
    page = api.get("/v1/tasks", query={"state": "failed"}).json
    assert calls == ["tasks.list_by_owner"] * 5
    assert page["tasks"] == []
    assert page["next_cursor"] is not None
