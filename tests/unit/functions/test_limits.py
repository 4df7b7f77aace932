"""Limits as a caller of the API sees them: a problem that says why, and when to come back."""

from __future__ import annotations

from dataclasses import replace

from taskgate.catalog import CATALOG, Catalog
from taskgate.plans import FREE, OPERATOR
from taskgate.principal import SCOPES
from taskgate.task import Owner
from tests.unit.functions.api_world import ADA, PROMPT, ApiWorld

OLGA = replace(ADA, owner=Owner("taskgate", "olga"), scopes=SCOPES, max_pending=1)
HASTY = replace(ADA, plan=replace(OPERATOR, submits_per_minute=6, burst=2))


def test_a_hasty_submit_is_429_with_the_seconds_to_wait_and_then_it_is_taken(
    api: ApiWorld,
) -> None:
    assert [api.submit(caller=HASTY).status for _ in range(2)] == [202, 202]
    refused = api.submit(caller=HASTY)
    assert (refused.status, refused.code) == (429, "rate_limited")
    assert refused.headers["Retry-After"] == "10"
    assert "6 submits a minute" in refused.json["detail"]
    api.world.clock.advance(10)
    assert api.submit(caller=HASTY).status == 202


def test_the_rate_is_of_submits_and_not_of_looking(api: ApiWorld) -> None:
    task_id = api.submitted(caller=HASTY)
    for _ in range(20):
        assert api.get(f"/v1/tasks/{task_id}/status", HASTY).status == 200


def test_a_priority_that_the_plan_lacks_is_403_and_names_the_field(api: ApiWorld) -> None:
    free = replace(ADA, plan=FREE)
    refused = api.submit({**PROMPT, "priority": "high"}, free)
    assert (refused.status, refused.code) == (403, "priority_not_allowed")
    assert refused.json["errors"][0]["field"] == "priority"
    assert api.submit({**PROMPT, "priority": "low"}, free).status == 202


def test_a_request_that_is_wrong_costs_no_submit(api: ApiWorld) -> None:
    for _ in range(5):
        assert api.submit({"type": "text_to_image", "input": {}}, HASTY).status == 422
    assert api.submit(caller=HASTY).status == 202


def test_a_full_lane_is_429_with_its_reason(api: ApiWorld) -> None:
    lane = api.tasks[api.submitted()].lane
    api.world.clock.advance(6)
    api.world.lanes.waiting = lambda _: 100_001  # type: ignore[method-assign]
    refused = api.submit()
    assert (refused.status, refused.code) == (429, "lane_full")
    assert refused.headers["Retry-After"] == "30"
    assert lane in refused.json["detail"]


def test_a_task_that_waits_under_a_cap_says_so(api: ApiWorld) -> None:
    capped = replace(ADA, plan=replace(OPERATOR, max_processing=2))
    said = "Of your tenant, at most 2 run at the same time."
    task_id = api.submitted(caller=capped)
    assert said in api.get(f"/v1/tasks/{task_id}/explain", capped).text
    api.claim()
    assert said not in api.get(f"/v1/tasks/{task_id}/explain", capped).text
    other = api.submitted()
    assert "at the same time" not in api.get(f"/v1/tasks/{other}/explain").text


def test_a_task_that_waits_under_a_cap_of_its_type_says_so() -> None:
    kinds = [replace(kind, max_processing=4) for kind in CATALOG]
    api = ApiWorld(Catalog(kinds))
    said = "Of its type, at most 4 run at the same time, whoever's they are."
    task_id = api.submitted()
    assert said in api.get(f"/v1/tasks/{task_id}/explain").json["sentences"]
    api.claim()
    assert said not in api.get(f"/v1/tasks/{task_id}/explain").text


def test_a_retry_is_no_way_past_the_limit_of_unfinished_tasks_but_for_an_operator(
    api: ApiWorld,
) -> None:
    narrow = replace(ADA, max_pending=1)
    bad = []
    for _ in range(2):
        bad.append(api.submitted(caller=narrow))
        api.fail(api.claim())
    path = "/v1/tasks/{}/retry"
    assert api.post(path.format(bad[0]), None, narrow).status == 200
    refused = api.post(path.format(bad[1]), None, narrow)
    assert (refused.status, refused.code) == (429, "too_many_pending_tasks")
    assert refused.headers["Retry-After"] == "10"
    assert api.post(path.format(bad[1]), None, OLGA).status == 200
