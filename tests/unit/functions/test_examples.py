"""Each answer that the document promises is shown once, as the API really gives it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from functions.api.openapi import EXAMPLES
from tests.contract.examples import recorded
from tests.unit.functions.schema_fits import DOCUMENT, assert_fits

ANSWERS = [
    (f"{method} {path} {status} {media}", content)
    for path, methods in DOCUMENT["paths"].items()
    for method, operation in methods.items()
    for status, answer in operation["responses"].items()
    for media, content in answer.get("content", {}).items()
]
AGAIN = "run: python -m tests.contract.examples && python -m functions.api.reference"


@pytest.mark.parametrize("content", [c for _, c in ANSWERS], ids=[name for name, _ in ANSWERS])
def test_an_answer_has_an_example_and_each_fits_its_schema(content: dict[str, Any]) -> None:
    examples = list(_examples(content))
    assert examples, AGAIN
    for example in examples:
        assert_fits(example, content["schema"])


def test_the_examples_are_what_the_api_answers_today() -> None:
    assert json.loads(EXAMPLES.read_text("utf-8")) == recorded(), AGAIN


def _examples(content: dict[str, Any]) -> Iterator[Any]:
    if "example" in content:
        yield content["example"]
    for named in content.get("examples", {}).values():
        yield DOCUMENT["components"]["examples"][named["$ref"].rpartition("/")[2]]["value"]
