"""What goes in arrives at the worker as it was sent: every character and every number."""

from __future__ import annotations

import json
from typing import Any

import pytest
from pydantic import Field

from taskgate.catalog import CATALOG, Catalog, TaskType
from taskgate.catalog.tasktype import TaskInput
from tests.unit.functions.api_world import ApiWorld

TEXTS = {
    "an emoji of five with joiners": "👩‍👩‍👧‍👦 👍🏽",
    "the last code point of the plane": "a\uffffb",
    "a noncharacter beyond the plane": "\U0010ffff",
    "NUL": "a\x00b",
    "other controls": "\x07\x1b\x7f\x85\u2028\u2029",
    "right-to-left marks": "\u200fשלום\u202e abc \u202c",
    "both ways to write é": "\u00e9 e\u0301",
    "a byte order mark inside": "a\ufeffb",
    "quotes and backslashes": '\\"\\\\u0041',
    "64 KiB of ASCII": "x" * 65_536,
    "64 KiB of emoji": "🦊" * 16_384,
}


@pytest.mark.parametrize("escaped", [True, False], ids=["escaped", "raw"])
@pytest.mark.parametrize("prompt", TEXTS.values(), ids=TEXTS)
def test_a_prompt_arrives_byte_for_byte(api: ApiWorld, prompt: str, escaped: bool) -> None:
    body = {"type": "text_to_image", "input": {"prompt": prompt}}
    text = json.dumps(body, ensure_ascii=escaped)
    answer = api.submit(text if escaped else text.encode())
    assert answer.status == 202
    assert json.loads(api.claim().input)["prompt"].encode() == prompt.encode()


def test_labels_come_back_as_they_were_given(api: ApiWorld) -> None:
    labels = {"who 👩‍🚀": "שלום\u0000\uffff", "empty": ""}
    task_id = api.submitted({"type": "text_to_image", "input": {"prompt": "x"}, "metadata": labels})
    assert api.get(f"/v1/tasks/{task_id}").json["metadata"] == labels


class ProbeInput(TaskInput):
    g: float
    a: float
    b: float
    c: float
    d: float
    e: int
    more: list[float] = Field(default_factory=list)


PROBE = TaskType(name="probe", title="p", input_model=ProbeInput, runner="x:Y", pool="cpu")
PROBED = Catalog((*CATALOG, PROBE))


def _probe(**fields: Any) -> str:
    given = '{"g":7.5,"a":0.1,"b":1e-7,"c":1.0,"d":30.40,"e":12345678901234567890'
    for name, text in fields.items():
        given += f',"{name}":{text}'
    return f'{{"type":"probe","input":{given}}}}}'


def test_every_number_arrives_as_the_same_number() -> None:
    api = ApiWorld(PROBED)
    assert api.submit(_probe()).status == 202
    arrived = json.loads(api.claim().input)
    assert arrived["g"] == 7.5
    assert arrived["a"] == 0.1
    assert arrived["b"] == 1e-7
    assert repr(arrived["c"]) == "1.0"
    assert arrived["d"] == 30.4
    assert arrived["e"] == 12345678901234567890


def test_a_double_is_taken_however_long_it_is_printed() -> None:
    api = ApiWorld(PROBED)
    printed = "[0.30000000000000004,0.10000000000000001,0.10000000000000000555,-0.0,5e-324,1E+3]"
    assert api.submit(_probe(more=printed)).status == 202
    assert json.loads(api.claim().input)["more"] == [0.1 + 0.2, 0.1, 0.1, -0.0, 5e-324, 1000.0]


def test_an_output_with_what_json_cannot_say_comes_out_as_strict_json(
    api: ApiWorld, tmp_path: Any
) -> None:
    task_id = api.submitted()
    api.succeed(api.claim(), tmp_path, output='{"score": NaN, "text": "\\ud800"}')
    answer = api.get(f"/v1/tasks/{task_id}")
    assert answer.json["result"]["output"]["score"] is None
    assert answer.text.isascii()
