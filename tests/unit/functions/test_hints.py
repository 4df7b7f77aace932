"""A name that is wrong is answered with the one that was meant, and never with anybody's data."""

from __future__ import annotations

from typing import Any

import pytest

from functions.http.strict_json import MAX_BODY_BYTES
from taskgate import misfits as misfits_module
from tests.unit.functions.api_world import ADA, GHOST, OPERATOR, PROMPT, ApiWorld

FINISH: dict[str, Any] = {"type": "finish_image", "input": {"image": {"$result": "image.png"}}}
TYPE = "No such task type; did you mean text_to_image? This gateway serves embed_document, finish_image, text_to_image."


def _said(api: ApiWorld, body: object) -> dict[str, str]:
    answer = api.submit(body)
    assert answer.status == 422
    assert not api.tasks
    return {wrong["field"]: wrong["message"] for wrong in answer.json["errors"]}


@pytest.mark.parametrize("name", ["text_to_imag", "TEXT_TO_IMAGE", "text-to-image", "texttoimage"])
def test_an_unknown_task_type_is_answered_with_the_one_that_was_meant_and_all_there_are(
    api: ApiWorld, name: str
) -> None:
    answer = api.submit({**PROMPT, "type": name})
    assert (answer.code, answer.json["detail"]) == ("unknown_task_type", TYPE)
    assert answer.json["title"] == "No such task type; GET /v1/task-types lists them."
    assert _said(api, {**PROMPT, "type": name}) == {"type": TYPE}


def test_a_name_that_is_like_none_is_answered_without_a_guess(api: ApiWorld) -> None:
    said = _said(api, {**PROMPT, "type": "mine_bitcoin"})["type"]
    assert said.startswith("No such task type. This gateway serves embed_document,")


FIELDS: tuple[tuple[dict[str, Any], str, str], ...] = (
    ({"Priority": "high"}, "Priority", "is not known here; did you mean priority?"),
    ({"callback": "https://x.example"}, "callback", "did you mean callback_url?"),
    ({"timeouts": {"run_second": 5}}, "timeouts.run_second", "did you mean run_seconds?"),
    ({"priority": "High"}, "priority", "must be 'low', 'normal' or 'high'; did you mean high?"),
    ({"input": {"promt": "x"}}, "input.promt", "is not known here; did you mean prompt?"),
    ({"input": {}}, "input.prompt", "is required"),
    ({"input": {"prompt": "x", "steps": 201}}, "input.steps", "must be at most 200"),
    ({"input": {"prompt": ""}}, "input.prompt", "must not be empty"),
    ({"delay": 1.5}, "delay", "must be a whole number"),
    ({"run_at": "tomorrow"}, "run_at", "must be a time like"),
    ({"timeouts": 5}, "timeouts", "must be an object"),
    ({"then": [{**FINISH, "typ": "x"}]}, "then.0.typ", "did you mean type?"),
    ({"then": [{**FINISH, "type": "finish_img"}]}, "then.0.type", "did you mean finish_image?"),
    ({"callback_events": ["succeeded"]}, "callback_events.0", "did you mean task.succeeded?"),
    (
        {"then": [{**FINISH, "input": {"image": {"$reslt": "image.png"}}}]},
        "then.0.input.image.$reslt",
        "did you mean $result?",
    ),
)


@pytest.mark.parametrize(("wrong", "field", "said"), FIELDS, ids=lambda part: str(part)[:40])
def test_a_wrong_field_or_value_is_told_with_its_bound_and_what_was_meant(
    api: ApiWorld, wrong: dict[str, Any], field: str, said: str
) -> None:
    assert said in _said(api, {**PROMPT, **wrong})[field]


def test_a_field_that_is_like_none_is_answered_with_those_there_are(api: ApiWorld) -> None:
    said = _said(api, {**PROMPT, "zzz": 1})["zzz"]
    assert said.startswith("is not known here; known are callback_events, callback_url, delay,")
    assert "PydanticUndefined" not in said
    assert "Body" not in said


QUERIES = [
    ("/v1/tasks", {"stat": "failed"}, "did you mean state?"),
    ("/v1/tasks", {"metadata": "7"}, "did you mean metadata.NAME?"),
    ("/v1/tasks", {"owner": "eve"}, "it takes limit, cursor, state, type, since, until"),
    ("/v1/tasks", {"state": "suceeded"}, "did you mean succeeded?"),
    (f"/v1/tasks/{GHOST}/status", {"waits": "5"}, "did you mean wait?"),
    ("/v1/admin/tasks", {"state": "queud"}, "did you mean queued?"),
    ("/v1/admin/problems", {"code": "model_eror"}, "did you mean model_error?"),
]


@pytest.mark.parametrize(("path", "query", "said"), QUERIES, ids=str)
def test_a_wrong_parameter_is_told_with_what_was_meant(
    api: ApiWorld, path: str, query: dict[str, str], said: str
) -> None:
    who = OPERATOR if "/admin/" in path else ADA
    assert said in api.get(path, who, query=query).json["errors"][0]["message"]


def test_a_route_without_parameters_names_none(api: ApiWorld) -> None:
    wrong = api.get("/v1/stats", query={"x": "1"}).json["errors"][0]
    assert wrong == {"field": "x", "message": "is no parameter of this route"}


def test_an_upload_of_an_unknown_type_is_told_the_one_that_was_meant(api: ApiWorld) -> None:
    wrong = api.post("/v1/uploads", {"content_type": "application/pfd", "bytes": 5}).json
    assert "did you mean application/pdf?" in wrong["errors"][0]["message"]


def test_a_body_full_of_unknown_fields_costs_no_more_guesses_than_are_told(
    api: ApiWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    """To compare words takes time: 256 KiB of them must not hold the function up."""
    guesses: list[object] = []

    def counted(word: object, known: object) -> str:
        guesses.append((word, known))
        return ""

    monkeypatch.setattr(misfits_module, "did_you_mean", counted)
    fields = {f"prioriti{n}": 1 for n in range(10_000)}
    assert len(str(fields)) < MAX_BODY_BYTES
    assert len(api.submit({**PROMPT, **fields}).json["errors"]) == 20
    assert len(guesses) == 20


def test_a_word_of_any_length_is_not_compared_beyond_its_bound(api: ApiWorld) -> None:
    assert "did you mean" not in _said(api, {**PROMPT, "priority": "high" * 20_000})["priority"]
