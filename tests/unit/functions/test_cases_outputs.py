"""Cases of other projects about what a worker hands over (B62, B65, B67), each input tried."""

from __future__ import annotations

import json
from typing import Any

import pytest

from taskgate import stored_json
from taskgate.gateway import announcing
from taskgate.gateway.work.worker import Failure
from taskgate.lifecycle.history import MAX_ENTRIES
from taskgate.lifecycle.retry import ErrorClass, ErrorCode
from tests.unit.functions.api_world import PROMPT, ApiWorld

NUMBERS = (
    '{"g":7.5,"a":0.1,"b":1e-07,"c":1.0,"d":30.4,"e":12345678901234567890,"s":0.30000000000000004}'
)
STRANGE = {
    "NaN": ('{"x":NaN}', {"x": None}),
    "an infinity": ('{"x":[Infinity,-Infinity]}', {"x": [None, None]}),
    "a number that no double holds": ('{"x":1e400,"y":-1e400}', {"x": None, "y": None}),
    "half of a surrogate pair": ('{"x":"a\\ud800b"}', {"x": "a\ufffdb"}),
    "the other half, in a key": ('{"\\udc00":1}', {"\ufffd": 1}),
    "a whole pair, escaped": ('{"x":"\\ud83e\\udd8a"}', {"x": "🦊"}),
    "a backslash before a u": ('{"x":"\\\\ud800"}', {"x": "\\ud800"}),
}


def _strict(text: str) -> Any:
    """As a parser that takes nothing but JSON reads it."""

    def refuse(word: str) -> Any:
        raise AssertionError(f"{word} is no JSON")

    text.encode("utf-8")
    return json.loads(text, parse_constant=refuse)


def test_the_numbers_of_an_output_come_out_as_they_went_in(api: ApiWorld) -> None:
    task_id = api.submitted()
    api.worker.succeed(api.claim(), [], NUMBERS)
    text = api.get(f"/v1/tasks/{task_id}/result").text
    assert '"c":1.0' in text
    assert '"e":12345678901234567890' in text
    assert _strict(text)["output"] == json.loads(NUMBERS)
    assert json.loads(announcing.body(api.tasks[task_id]))["data"]["output"] == json.loads(NUMBERS)


@pytest.mark.parametrize(("stored", "told"), STRANGE.values(), ids=STRANGE)
def test_whatever_stands_in_an_output_a_strict_parser_reads_the_answer_and_the_callback(
    api: ApiWorld, stored: str, told: Any
) -> None:
    body = {**PROMPT, "callback_url": "https://example.com/hook"}
    task_id = api.submitted(body)
    api.worker.succeed(api.claim(), [], stored)
    for path in ("", "/result"):
        text = api.get(f"/v1/tasks/{task_id}{path}").text
        found = _strict(text)
        assert (found.get("result") or found)["output"] == told
    api.settle()
    ((_, _, letter),) = api.letters
    assert _strict(letter.decode())["data"]["output"] == told


def test_a_text_that_is_strict_is_read_as_it_is() -> None:
    for text in ("null", "1", '"é😀"', NUMBERS, '{"a":[true,false,null,"\\u0000"]}'):
        assert stored_json.loaded(text) == json.loads(text)


def test_ten_thousand_messages_of_progress_leave_the_record_as_small_as_it_was(
    api: ApiWorld,
) -> None:
    task_id = api.submitted()
    held = api.claim()
    before = api.tasks[task_id]
    for n in range(10_000):
        api.worker.report(held, n / 10_000, "é" * 10_000)
    assert api.tasks[task_id] is before
    assert len(api.get(f"/v1/tasks/{task_id}/status").text) < 2_000
    assert api.worker.succeed(held, [], "{}").state.value == "succeeded"


def test_a_traceback_of_a_megabyte_is_kept_in_part_and_the_task_ends(api: ApiWorld) -> None:
    task_id = api.submitted()
    trace = "é" * 500_000
    failure = Failure(ErrorCode.INVALID_INPUT, trace, ErrorClass.PERMANENT, trace)
    api.worker.fail(api.claim(), failure)
    answer = api.get(f"/v1/tasks/{task_id}")
    assert answer.json["state"] == "failed"
    assert 0 < len(answer.json["error"]["message"]) < 5_000
    assert len(answer.text.encode()) < 100_000


def test_labels_of_390_kb_are_refused_at_the_door(api: ApiWorld) -> None:
    labels = {str(n): "x" * 256 for n in range(1_520)}
    answer = api.submit({**PROMPT, "metadata": labels})
    assert answer.status in {413, 422}
    assert not api.tasks


def test_a_history_folds_so_that_no_number_of_acts_makes_a_task_unsavable(api: ApiWorld) -> None:
    task_id = api.submitted({**PROMPT, "delay": 3600})
    for n in range(2 * MAX_ENTRIES):
        answer = api.post(
            f"/v1/tasks/{task_id}/reschedule", {"delay": 3600 + n, "reason": "é" * 100}
        )
        assert answer.status == 200
    assert len(api.tasks[task_id].history) <= MAX_ENTRIES
    assert api.post(f"/v1/tasks/{task_id}/cancel").json["state"] == "canceled"
