"""Uploads over HTTP: who gets which form, and what an input may refer to."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from functions.http.times import when
from taskgate.errors import Unavailable
from taskgate.lifecycle.states import State
from taskgate.plans import FREE, OPERATOR
from taskgate.principal import Principal
from taskgate.results import Form
from taskgate.task import Owner
from taskgate.testing.memory.results import FormRefused
from taskgate.uploads import MAX_WHOLE_BYTES, key_of, whole_text
from tests.unit.functions.api_world import ADA, EVE, PROMPT, ApiWorld
from tests.unit.functions.http_events import Answer
from tests.unit.functions.ports_between import breaking, counting

PDF = b"%PDF-1.7 and so on"
DAY = 24 * 3600
GHOST = "upload_01ARZ3NDEKTSV4RRFFQ69G5FAV"
COLLEAGUE = Principal(Owner("acme", "bob"), ADA.scopes, 50, "k3")
MIB = 1024 * 1024


def asked(api: ApiWorld, caller: Principal = ADA, **terms: Any) -> Answer:
    body = {"content_type": "application/pdf", "bytes": len(PDF), **terms}
    return api.post("/v1/uploads", body, caller)


def form_of(answer: Answer) -> Form:
    return Form(answer.json["url"], answer.json["fields"])


def uploaded(
    api: ApiWorld, content: bytes = PDF, kind: str = "application/pdf", caller: Principal = ADA
) -> str:
    """The id of an upload that is there."""
    answer = asked(api, caller, content_type=kind, bytes=len(content))
    assert answer.status == 201, answer.text
    api.world.results.post(form_of(answer), content)
    return str(answer.json["id"])


def embedding(upload_id: str, **more: Any) -> dict[str, Any]:
    given = {"format": "pdf", "document": {"upload": upload_id}}
    return {"type": "embed_document", "input": given, **more}


def whole(upload_id: str, kind: str = "embed_document", **more: Any) -> dict[str, Any]:
    return {"type": kind, "input": {"$upload": upload_id}, **more}


def test_a_form_is_for_the_callers_own_folder_and_says_how_long_it_and_the_file_are_good(
    api: ApiWorld,
) -> None:
    answer = asked(api, sha256=hashlib.sha256(PDF).hexdigest(), name="a b.pdf")
    assert answer.status == 201
    upload_id = answer.json["id"]
    assert answer.json["fields"]["key"] == f"in/acme/ada/{upload_id}"
    now = api.world.clock()
    assert answer.json["expires_at"] == when(now + 900_000)
    assert answer.json["kept_until"] == when(now + 7 * DAY * 1000)
    api.world.results.post(form_of(answer), PDF)
    with pytest.raises(FormRefused):
        api.world.results.post(form_of(answer), PDF[::-1])


def test_a_form_costs_one_call_and_leaves_no_record() -> None:
    calls: list[str] = []
    api = ApiWorld(between=counting(calls))
    assert asked(api, replace(ADA, plan=FREE)).status == 201
    assert calls == ["rates.admit"]


@pytest.mark.parametrize(
    ("wrong", "field", "said"),
    [
        ({"content_type": "text/html"}, "content_type", "application/pdf"),
        ({"content_type": "application/pdf; charset=x"}, "content_type", "must be one of"),
        ({"content_type": "Application/PDF"}, "content_type", "must be one of"),
        ({"content_type": "application/pdf\r\nx: y"}, "content_type", "must be one of"),
        ({"content_type": "image/svg+xml"}, "content_type", "must be one of"),
        ({"bytes": 50 * MIB + 1}, "bytes", f"1 to {50 * MIB}, as any task takes"),
        ({"content_type": "application/json", "bytes": MIB + 1}, "bytes", f"1 to {MIB}"),
        ({"bytes": 0}, "bytes", "at least 1"),
        ({"bytes": -1}, "bytes", "at least 1"),
        ({"bytes": 1.5}, "bytes", "whole number"),
        ({"bytes": "9"}, "bytes", "whole number"),
        ({"bytes": 5 * 1024 * MIB + 1}, "bytes", f"at most {5 * 1024 * MIB}"),
        ({"sha256": "0" * 63}, "sha256", "must match"),
        ({"sha256": "0" * 64 + "\n"}, "sha256", "must match"),
        ({"sha256": "F" * 64}, "sha256", "must match"),
        ({"name": ""}, "name", "not be empty"),
        ({"name": "x" * 129}, "name", "at most 128"),
        ({"key": "r/acme/x"}, "key", "is not known here"),
    ],
    ids=repr,
)
def test_terms_out_of_bounds_are_refused_with_the_field_and_the_bound(
    api: ApiWorld, wrong: dict[str, Any], field: str, said: str
) -> None:
    answer = asked(api, **wrong)
    assert (answer.status, answer.code) == (422, "invalid_request")
    assert answer.fields == [field]
    assert said in answer.json["errors"][0]["message"]


def test_a_plan_may_allow_less_and_says_so(api: ApiWorld) -> None:
    free = replace(ADA, plan=FREE)
    answer = asked(api, free, bytes=20 * MIB + 1)
    assert f"1 to {20 * MIB}, by your plan free" in answer.json["errors"][0]["message"]
    assert asked(api, free, bytes=20 * MIB).status == 201


def test_forms_are_handed_out_at_the_rate_of_submits_and_counted_apart(api: ApiWorld) -> None:
    hasty = replace(ADA, plan=replace(OPERATOR, submits_per_minute=6, burst=2))
    assert [asked(api, hasty).status for _ in range(3)] == [201, 201, 429]
    assert "6 uploads a minute" in asked(api, hasty).json["detail"]
    assert api.submit(caller=hasty).status == 202


def test_whoever_may_only_read_gets_no_form(api: ApiWorld) -> None:
    reader = replace(ADA, scopes=frozenset({"tasks:read"}))
    assert asked(api, reader).code == "missing_scope"


def test_a_task_that_refers_to_an_upload_is_taken_for_one_call_more() -> None:
    calls: list[str] = []
    api = ApiWorld(between=counting(calls, "results"))
    upload_id = uploaded(api)
    api.submit(PROMPT)  # what is remembered for a while is known after it
    calls.clear()
    assert api.submit(PROMPT).status == 202
    inline = sorted(calls)
    assert not [call for call in inline if call.startswith("results")]
    calls.clear()
    assert api.submit(embedding(upload_id)).status == 202
    assert sorted(call for call in calls if call != "lanes.waiting") == sorted(
        [*inline, "results.look"]
    )


def test_an_input_that_was_uploaded_whole_costs_one_call_more_too() -> None:
    calls: list[str] = []
    api = ApiWorld(between=counting(calls, "results"))
    upload_id = uploaded(api, b'{"text":"a lighthouse"}', "application/json")
    calls.clear()
    assert api.submit(whole(upload_id)).status == 202
    assert [call for call in calls if call.startswith("results")] == ["results.read"]


@pytest.mark.parametrize("owner", [EVE, COLLEAGUE], ids=["tenant", "user"])
@pytest.mark.parametrize("body", [embedding, whole])
def test_a_strangers_upload_is_refused_as_one_that_never_was(
    api: ApiWorld, owner: Principal, body: Callable[[str], dict[str, Any]]
) -> None:
    theirs = uploaded(api, b'{"text":"x"}', "application/json", owner)
    pdf = uploaded(api, caller=owner)
    for upload_id in (theirs, pdf, GHOST):
        answer = api.submit(body(upload_id))
        assert (answer.status, answer.code) == (422, "invalid_input")
        assert answer.json["errors"][0]["field"].startswith("input")
        told = answer.text.replace(upload_id, "ID")
        assert told == api.submit(body(GHOST)).text.replace(GHOST, "ID")
    assert not api.tasks


@pytest.mark.parametrize(
    "upload_id",
    ["", "upload_", "../eve/" + GHOST, GHOST + "/x", GHOST.lower(), "task_" + "0" * 26, 7, None],
)
@pytest.mark.parametrize("body", [embedding, whole])
def test_what_is_no_id_is_refused_before_the_bucket_is_asked(
    upload_id: Any, body: Callable[[Any], dict[str, Any]]
) -> None:
    calls: list[str] = []
    api = ApiWorld(between=counting(calls, "results"))
    answer = api.submit(body(upload_id))
    assert (answer.status, answer.code) == (422, "invalid_input")
    assert not [call for call in calls if call.startswith("results")]


def test_an_upload_of_another_type_is_refused_with_the_types_that_fit(api: ApiWorld) -> None:
    answer = api.submit(embedding(uploaded(api, b"{}", "application/json")))
    assert answer.fields == ["input.document"]
    assert "takes application/pdf, text/markdown, text/plain" in answer.text


def test_an_upload_that_is_larger_than_the_task_takes_is_refused_with_the_bound(
    api: ApiWorld,
) -> None:
    upload_id = uploaded(api)
    key = key_of(ADA.owner, upload_id)
    api.world.results.told[key] = replace(api.world.results.told[key], size=50 * MIB + 1)
    answer = api.submit(embedding(upload_id))
    assert answer.fields == ["input.document"]
    assert f"at most {50 * MIB} bytes" in answer.text


@pytest.mark.parametrize(
    ("content", "field", "said"),
    [
        (b'{"text":"x","chunk_chars":7}', "input.chunk_chars", "100"),
        (b'{"text":NaN}', "input.text", "string"),
        (b"[]", "input", "object"),
        (b"not json", "input", "JSON"),
        (b'{"text":"\\ud800"}', "input", "JSON"),
        (b'{"text":"\xff"}', "input", "not UTF-8"),
        (b'{"format":"pdf","document":{"upload":"%s"}}' % GHOST.encode(), "input.document", "no"),
    ],
    ids=repr,
)
def test_an_uploaded_input_is_held_to_the_schema_at_submit(
    api: ApiWorld, content: bytes, field: str, said: str
) -> None:
    answer = api.submit(whole(uploaded(api, content, "application/json")))
    assert (answer.status, answer.code) == (422, "invalid_input")
    assert answer.fields == [field]
    assert said in answer.json["errors"][0]["message"]


def test_an_input_that_is_too_large_to_be_sent_is_uploaded_and_runs(api: ApiWorld) -> None:
    text = "x" * (MAX_WHOLE_BYTES - 20)
    content = json.dumps({"text": text}).encode()
    assert api.submit({"type": "embed_document", "input": {"text": text}}).status == 413
    upload_id = uploaded(api, content, "application/json")
    task_id = api.submitted(whole(upload_id))
    held = api.claim()
    assert (held.task.id, held.input) == (task_id, whole_text(upload_id))


def test_an_input_of_one_upload_and_something_beside_it_is_refused(api: ApiWorld) -> None:
    answer = api.submit({"type": "embed_document", "input": {"$upload": GHOST, "text": "x"}})
    assert (answer.status, answer.fields) == (422, ["input.$upload"])


def test_a_bucket_that_is_away_is_503_and_nothing_is_on_record() -> None:
    api = ApiWorld(between=breaking("results", "look", Unavailable("busy")))
    answer = api.submit(embedding(uploaded(api)))
    assert (answer.status, answer.code) == (503, "unavailable")
    assert not api.tasks


# A task must have ended when its upload goes, after 7 days.


def test_a_task_that_may_still_wait_when_its_upload_goes_is_refused(api: ApiWorld) -> None:
    upload_id = uploaded(api)
    late = api.submit(embedding(upload_id, delay=6 * DAY))
    assert (late.status, late.code, late.fields) == (422, "invalid_request", ["delay"])
    assert "its upload is kept until" in late.text
    assert api.submit(embedding(upload_id, delay=6 * DAY - 2 * 3600)).status == 202
    shorter = {"timeouts": {"deadline_seconds": 3600}}
    assert api.submit(embedding(upload_id, delay=6 * DAY, **shorter)).status == 202


def test_an_upload_that_is_nearly_gone_is_refused_though_the_task_starts_at_once(
    api: ApiWorld,
) -> None:
    upload_id = uploaded(api)
    api.world.clock.advance(6 * DAY)
    answer = api.submit(embedding(upload_id))
    assert (answer.status, answer.fields) == (422, ["input"])


def test_a_task_is_not_moved_beyond_its_upload(api: ApiWorld) -> None:
    task_id = api.submitted(embedding(uploaded(api), delay=3600))
    path = f"/v1/tasks/{task_id}/reschedule"
    answer = api.post(path, {"delay": 30 * DAY})
    assert (answer.status, answer.fields) == (422, ["delay"])
    assert api.post(path, {"delay": 5 * DAY}).status == 200


def test_a_task_whose_upload_goes_soon_gets_no_other_life(api: ApiWorld) -> None:
    task_id = api.submitted(embedding(uploaded(api)))
    api.fail(api.claim())
    api.world.clock.advance(6 * DAY)
    answer = api.post(f"/v1/tasks/{task_id}/retry", {})
    assert (answer.status, answer.code) == (409, "verb_not_allowed")
    assert "upload again" in answer.json["detail"]


def test_a_chain_is_held_to_the_uploads_of_all_its_parts(api: ApiWorld) -> None:
    missing = api.submit({**PROMPT, "then": [embedding(GHOST)]})
    assert missing.fields == ["then.0.input.document"]
    wrong = embedding(uploaded(api, b"{}", "application/json"))
    deep = api.submit({**PROMPT, "then": [{**PROMPT, "then": [wrong]}]})
    assert deep.fields == ["then.0.then.0.input.document"]
    last = {**PROMPT, "then": [embedding(uploaded(api))]}
    # Three days of deadlines, one after the other, and then it must still be there.
    assert api.submit({**PROMPT, "then": [last], "delay": 4 * DAY}).fields == ["delay"]
    assert api.submit({**PROMPT, "then": [last], "delay": 3 * DAY}).status == 202


def test_a_follow_up_with_an_upload_is_created_and_bound_by_it(api: ApiWorld) -> None:
    parent = api.submitted({**PROMPT, "then": [embedding(uploaded(api))]})
    api.worker.succeed(api.claim(), [], "{}")
    api.settle()
    [child] = [task for task in api.tasks.values() if task.parent == parent]
    assert child.state is State.QUEUED
    assert child.uploads_until is not None
    assert child.uploads_until >= child.deadline_at


def test_a_submit_refers_to_a_bounded_number_of_uploads(api: ApiWorld) -> None:
    each = [embedding(f"upload_01ARZ3NDEKTSV4RRFFQ69G5F{n:02}") for n in range(20)]
    steps = [{**PROMPT, "then": each[n : n + 5]} for n in range(0, 20, 5)]
    answer = api.submit({**PROMPT, "then": steps})
    assert (answer.status, answer.fields) == (422, ["input"])
    assert "at most 16 uploads" in answer.text


def test_an_upload_is_shown_in_the_schema_of_the_type_that_takes_it(api: ApiWorld) -> None:
    types = {t["name"]: t for t in api.get("/v1/task-types").json["task_types"]}
    [shown] = types["embed_document"]["input_schema"]["$defs"].values()
    assert shown["x-content-types"] == ["application/pdf", "text/markdown", "text/plain"]
    assert shown["x-max-bytes"] == 50 * MIB
