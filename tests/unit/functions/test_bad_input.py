"""Whatever is wrong with a request is told by code, status and field, and nothing is stored."""

from __future__ import annotations

import json
from typing import Any, NamedTuple

import pytest

from functions.http.strict_json import MAX_BODY_BYTES
from tests.unit.functions.api_world import ADA, GHOST, PROMPT, ApiWorld
from tests.unit.functions.ports_between import counting


class Bad(NamedTuple):
    name: str
    body: Any
    status: int
    code: str
    field: str | None = None


def _with(**fields: Any) -> dict[str, Any]:
    return {**PROMPT, **fields}


def _input(**fields: Any) -> dict[str, Any]:
    return _with(input={"prompt": "a lighthouse", **fields})


def _raw(prompt: str) -> str:
    return '{"type": "text_to_image", "input": {"prompt": ' + prompt + "}}"


BODIES = (
    Bad("no body", None, 400, "empty_body"),
    Bad("only blanks", " \n\t ", 400, "empty_body"),
    Bad("cut off", '{"type": "text_to_image"', 400, "malformed_json"),
    Bad("two documents", "{} {}", 400, "malformed_json"),
    Bad("a byte order mark", "\ufeff{}", 400, "malformed_json"),
    Bad("single quotes", "{'type': 'x'}", 400, "malformed_json"),
    Bad("a trailing comma", '{"type": "x",}', 400, "malformed_json"),
    Bad("a raw control character", _raw('"a\x01b"'), 400, "malformed_json"),
    Bad("not UTF-8", b'{"type": "\xff\xfe"}', 400, "malformed_json"),
    Bad("a surrogate in UTF-8", b'{"type": "\xed\xa0\x80"}', 400, "malformed_json"),
    Bad("NaN", _raw("NaN"), 400, "malformed_json"),
    Bad("Infinity", _raw("Infinity"), 400, "malformed_json"),
    Bad("-Infinity", _raw("-Infinity"), 400, "malformed_json"),
    Bad("a duplicate key", '{"type": "a", "type": "b", "input": {}}', 400, "duplicate_key", "type"),
    Bad("a duplicate key inside", _raw('{"a": 1, "a": 1}'), 400, "duplicate_key", "a"),
    Bad("half a pair as a value", _raw(r'"\ud800"'), 400, "lone_surrogate", "input.prompt"),
    Bad("half a pair as a key", _raw(r'{"\udc00": 1}'), 400, "lone_surrogate", "input.prompt.\udc00"),
    Bad("halves the wrong way round", _raw(r'"\ude00\ud83d"'), 400, "lone_surrogate", "input.prompt"),
    Bad("a depth bomb of lists", "[" * 100_000, 400, "nested_too_deep"),
    Bad("a depth bomb of objects", '{"a":' * 40_000, 400, "nested_too_deep"),
    Bad("33 levels", _raw("[" * 31 + "]" * 31), 400, "nested_too_deep"),
    Bad("an infinite float", _raw("1e400"), 422, "inexact_number", "input.prompt"),
    Bad("a vanishing float", _raw("1e-400"), 422, "inexact_number", "input.prompt"),
    Bad("an absurd exponent", _raw("1e-99999999999999999999"), 422, "inexact_number", "input.prompt"),
    Bad("more digits than a double", _raw("0.1234567890123456789"), 422, "inexact_number", "input.prompt"),
    Bad("an odd float over 2^53", _raw("9007199254740993.0"), 422, "inexact_number", "input.prompt"),
    Bad("a whole number of 5000 digits", _raw("9" * 5000), 422, "inexact_number", "input.prompt"),
    Bad("a list", "[]", 422, "not_an_object"),
    Bad("a text", '"task"', 422, "not_an_object"),
    Bad("null", "null", 422, "not_an_object"),
    Bad("over the limit", json.dumps(_input(prompt="x" * MAX_BODY_BYTES)), 413, "body_too_large"),
    Bad("over the limit in base64", b" " * (MAX_BODY_BYTES + 1), 413, "body_too_large"),
    Bad("far over the limit in base64", b" " * (MAX_BODY_BYTES * 3), 413, "body_too_large"),
    Bad("no type", {"input": {}}, 422, "invalid_request", "type"),
    Bad("no input", {"type": "text_to_image"}, 422, "invalid_request", "input"),
    Bad("a number for a type", _with(type=7), 422, "invalid_request", "type"),
    Bad("a list for an input", _with(input=[]), 422, "invalid_request", "input"),
    Bad("an unknown field", _with(retries=9), 422, "invalid_request", "retries"),
    Bad("an unknown priority", _with(priority="urgent"), 422, "invalid_request", "priority"),
    Bad("a text for seconds", _with(expected_seconds="60"), 422, "invalid_request", "expected_seconds"),
    Bad("true for seconds", _with(expected_seconds=True), 422, "invalid_request", "expected_seconds"),
    Bad("no seconds", _with(expected_seconds=0), 422, "invalid_request", "expected_seconds"),
    Bad("too many seconds", _with(expected_seconds=10**9), 422, "invalid_request", "expected_seconds"),
    Bad("17 labels", _with(metadata={str(n): "x" for n in range(17)}), 422, "invalid_request", "metadata"),
    Bad("a long label", _with(metadata={"a": "x" * 257}), 422, "invalid_request", "metadata.a"),
    Bad("a number for a label", _with(metadata={"a": 1}), 422, "invalid_request", "metadata.a"),
    Bad("over 1 KB of labels", _with(metadata={str(n): "x" * 250 for n in range(5)}), 422, "invalid_request", "metadata"),
    Bad("a time that is no time", _with(run_at="tomorrow"), 422, "invalid_request", "run_at"),
    Bad("a time without an offset", _with(run_at="2026-10-01T09:00:00"), 422, "invalid_request", "run_at"),
    Bad("a number for a time", _with(run_at=1790000000), 422, "invalid_request", "run_at"),
    Bad("a day that no month has", _with(run_at="2026-02-30T09:00:00Z"), 422, "invalid_request", "run_at"),
    Bad("Arabic digits", _with(run_at="٢٠٢٦-10-01T09:00:00Z"), 422, "invalid_request", "run_at"),
    Bad("a time 91 days ahead", _with(run_at="2026-12-22T14:00:00Z"), 422, "invalid_request", "run_at"),
    Bad("a delay of 91 days", _with(delay=91 * 86_400), 422, "invalid_request", "delay"),
    Bad("a negative delay", _with(delay=-1), 422, "invalid_request", "delay"),
    Bad("a time and a delay", _with(run_at="2026-10-01T09:00:00Z", delay=5), 422, "invalid_request", "delay"),
    Bad("a run over the type's longest", _with(timeouts={"run_seconds": 21_601}), 422, "invalid_request", "timeouts.run_seconds"),
    Bad("a life over the type's", _with(timeouts={"deadline_seconds": 86_401}), 422, "invalid_request", "timeouts.deadline_seconds"),
    Bad("no time to wait", _with(timeouts={"queue_seconds": 0}), 422, "invalid_request", "timeouts.queue_seconds"),
    Bad("an unknown limit", _with(timeouts={"nap_seconds": 1}), 422, "invalid_request", "timeouts.nap_seconds"),
    Bad("an unknown type", _with(type="mine_bitcoin"), 422, "unknown_task_type", "type"),
    Bad("no prompt", _with(input={}), 422, "invalid_input", "input.prompt"),
    Bad("an empty prompt", _input(prompt=""), 422, "invalid_input", "input.prompt"),
    Bad("an extra input field", _input(negative="rain"), 422, "invalid_input", "input.negative"),
    Bad("a text for a number", _input(seed="1"), 422, "invalid_input", "input.seed"),
    Bad("a float for a whole number", _input(seed=1.0), 422, "invalid_input", "input.seed"),
    Bad("a number over its bound", _input(seed=12345678901234567890), 422, "invalid_input", "input.seed"),
    Bad("a prompt over 64 KiB", _input(prompt="é" * (32 * 1024 + 1)), 422, "invalid_input", "input.prompt"),
    Bad("two documents in one", {"type": "embed_document", "input": {"text": "a", "content_base64": "YQ=="}}, 422, "invalid_input", "input"),
)  # fmt: skip


@pytest.mark.parametrize("bad", BODIES, ids=lambda bad: bad.name)
def test_a_bad_body_is_refused_by_name_and_nothing_is_stored(api: ApiWorld, bad: Bad) -> None:
    answer = api.submit(bad.body)
    assert (answer.status, answer.code) == (bad.status, bad.code)
    if bad.field is not None:
        assert bad.field in answer.fields
    assert not api.tasks
    assert not api.world.lanes.total()
    assert not api.world.tasks.books


KEYS = ("", " ", "a b", "a" * 256, "naïve", "tab\t", "\x7f")


@pytest.mark.parametrize("key", KEYS, ids=repr)
def test_a_bad_idempotency_key_is_refused(api: ApiWorld, key: str) -> None:
    answer = api.submit(key=key)
    assert (answer.status, answer.code) == (422, "bad_idempotency_key")
    assert answer.fields == ["Idempotency-Key"]
    assert not api.tasks


@pytest.mark.parametrize("body", ["x" * (MAX_BODY_BYTES + 1), b"x" * MAX_BODY_BYTES * 3], ids=len)
def test_a_body_over_the_limit_is_told_the_limit(api: ApiWorld, body: str | bytes) -> None:
    assert str(MAX_BODY_BYTES) in api.submit(body).json["detail"]


def test_the_largest_body_within_the_limit_is_read(api: ApiWorld) -> None:
    text = json.dumps(PROMPT)
    assert api.submit(text + " " * (MAX_BODY_BYTES - len(text))).status == 202


def test_the_deepest_body_within_the_limit_is_read(api: ApiWorld) -> None:
    answer = api.submit(_raw("[" * 30 + "]" * 30))
    assert (answer.code, answer.fields) == ("invalid_input", ["input.prompt"])


class Query(NamedTuple):
    path: str
    query: dict[str, str]
    status: int
    code: str
    field: str


QUERIES = (
    Query("/v1/tasks", {"limit": "abc"}, 422, "invalid_request", "limit"),
    Query("/v1/tasks", {"limit": "0"}, 422, "invalid_request", "limit"),
    Query("/v1/tasks", {"limit": "101"}, 422, "invalid_request", "limit"),
    Query("/v1/tasks", {"limit": "-1"}, 422, "invalid_request", "limit"),
    Query("/v1/tasks", {"limit": "1,2"}, 422, "invalid_request", "limit"),
    Query("/v1/tasks", {"limit": "٣"}, 422, "invalid_request", "limit"),
    Query("/v1/tasks", {"limit": ""}, 422, "invalid_request", "limit"),
    Query("/v1/tasks", {"limit": "9" * 5000}, 422, "invalid_request", "limit"),
    Query("/v1/tasks", {"state": "broken"}, 422, "invalid_request", "state"),
    Query("/v1/tasks", {"state": "failed,broken"}, 422, "invalid_request", "state"),
    Query("/v1/tasks", {"since": "yesterday"}, 422, "invalid_request", "since"),
    Query("/v1/tasks", {"until": "2026-01-01"}, 422, "invalid_request", "until"),
    Query("/v1/tasks", {"until": "2026-01-01T00:00:00"}, 422, "invalid_request", "until"),
    Query("/v1/tasks", {"metadata": "x"}, 422, "invalid_request", "metadata"),
    Query("/v1/tasks", {"owner": "eve"}, 422, "invalid_request", "owner"),
    Query("/v1/tasks", {"cursor": "0"}, 422, "bad_cursor", "cursor"),
    Query("/v1/tasks", {"cursor": "!"}, 422, "bad_cursor", "cursor"),
    Query("/v1/tasks", {"cursor": "W10"}, 422, "bad_cursor", "cursor"),
    Query("/v1/tasks", {"cursor": "e30"}, 422, "bad_cursor", "cursor"),
    Query("/v1/tasks", {"cursor": "é"}, 422, "bad_cursor", "cursor"),
    Query("/v1/tasks", {"cursor": "W1tb" * 2600}, 422, "bad_cursor", "cursor"),
    Query(f"/v1/tasks/{GHOST}/result", {"inline": "yes"}, 422, "invalid_request", "inline"),
    Query(f"/v1/tasks/{GHOST}/status", {"wait": "21"}, 422, "invalid_request", "wait"),
    Query(f"/v1/tasks/{GHOST}/status", {"wait": "1.5"}, 422, "invalid_request", "wait"),
    Query(f"/v1/tasks/{GHOST}/explain", {"wait": "5"}, 422, "invalid_request", "wait"),
    Query(f"/v1/tasks/{GHOST}", {"x": "1"}, 422, "invalid_request", "x"),
)


@pytest.mark.parametrize("bad", QUERIES, ids=str)
def test_a_bad_query_is_refused_by_its_parameter(api: ApiWorld, bad: Query) -> None:
    answer = api.get(bad.path, query=bad.query)
    assert (answer.status, answer.code, answer.fields) == (bad.status, bad.code, [bad.field])


def test_the_bound_is_named_with_the_field(api: ApiWorld) -> None:
    answer = api.get("/v1/tasks", query={"limit": "abc"})
    assert answer.json["errors"][0]["message"] == "must be a whole number, 1 to 100"


def test_an_answer_does_not_grow_with_the_mess_that_was_sent(api: ApiWorld) -> None:
    answer = api.submit({("k" * 1000) + str(n): 1 for n in range(200)})
    assert answer.status == 422
    assert len(answer.text) < 20_000


VERBS = (
    ("extend", Bad("no body", None, 400, "empty_body")),
    ("extend", Bad("no seconds", {}, 422, "invalid_request", "seconds")),
    ("extend", Bad("nought seconds", {"seconds": 0}, 422, "invalid_request", "seconds")),
    ("extend", Bad("over 6 hours", {"seconds": 21_601}, 422, "invalid_request", "seconds")),
    ("extend", Bad("a text", {"seconds": "60"}, 422, "invalid_request", "seconds")),
    ("priority", Bad("no priority", {}, 422, "invalid_request", "priority")),
    ("priority", Bad("an unknown one", {"priority": "urgent"}, 422, "invalid_request", "priority")),
    ("reschedule", Bad("no body", None, 400, "empty_body")),
    ("reschedule", Bad("no time", {}, 422, "invalid_request", "run_at")),
    ("reschedule", Bad("both", {"run_at": "2026-10-01T09:00:00Z", "delay": 1}, 422, "invalid_request", "delay")),
    ("reschedule", Bad("too far", {"run_at": "2027-10-01T09:00:00Z"}, 422, "invalid_request", "run_at")),
    ("recover", Bad("an unknown field", {"seconds": 1}, 422, "invalid_request", "seconds")),
    ("retry", Bad("a long reason", {"reason": "é" * 101}, 422, "invalid_request", "reason")),
    ("fail", Bad("a list", [], 422, "not_an_object")),
)  # fmt: skip


@pytest.mark.parametrize(("verb", "bad"), VERBS, ids=lambda part: getattr(part, "name", part))
def test_a_bad_body_of_a_verb_is_refused_by_name_and_changes_nothing(
    api: ApiWorld, verb: str, bad: Bad
) -> None:
    task_id = api.submitted({**PROMPT, "delay": 3600})
    before = api.tasks[task_id]
    answer = api.post(f"/v1/tasks/{task_id}/{verb}", bad.body)
    assert (answer.status, answer.code) == (bad.status, bad.code)
    assert bad.field is None or bad.field in answer.fields
    assert api.tasks[task_id] is before


CANCELS = (
    Bad("an unknown mode", {"mode": "gentle"}, 422, "invalid_request", "mode"),
    Bad("an unknown field", {"why": "x"}, 422, "invalid_request", "why"),
    Bad("a long reason", {"reason": "é" * 101}, 422, "invalid_request", "reason"),
    Bad("a list", [], 422, "not_an_object"),
    Bad("half a surrogate pair", r'{"reason": "\ud800"}', 400, "lone_surrogate", "reason"),
)


@pytest.mark.parametrize("bad", CANCELS, ids=lambda bad: bad.name)
def test_a_bad_cancel_changes_nothing(api: ApiWorld, bad: Bad) -> None:
    task_id = api.submitted()
    before = api.tasks[task_id]
    answer = api.post(f"/v1/tasks/{task_id}/cancel", bad.body)
    assert (answer.status, answer.code) == (bad.status, bad.code)
    assert bad.field is None or bad.field in answer.fields
    assert api.tasks[task_id] is before


ODD_IDS = ("x", "task_", "task_" + "0" * 25, "task_" + "U" * 26, GHOST.lower(), GHOST + " ", "..")


@pytest.mark.parametrize("task_id", ODD_IDS, ids=repr)
@pytest.mark.parametrize("part", ["", "/status", "/result"])
def test_an_id_of_another_shape_is_404_without_a_look_at_the_store(task_id: str, part: str) -> None:
    calls: list[str] = []
    api = ApiWorld(between=counting(calls))
    answer = api.get(f"/v1/tasks/{task_id}{part}", ADA)
    assert answer.status == 404
    # An empty part of a path is another path; of an id that got there, its form is told.
    assert "26 digits and capitals" in answer.text or answer.code == "no_such_route"
    assert not calls
