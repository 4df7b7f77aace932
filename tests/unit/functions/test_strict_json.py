"""Strict JSON over everything that hypothesis can think of: exact, or refused by name."""

from __future__ import annotations

import json
from contextlib import suppress
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from functions.http.strict_json import MAX_DEPTH, parse
from taskgate.errors import InexactNumber, NestedTooDeep, Problem
from tests.unit.functions.api_world import ApiWorld

UNHURRIED = settings(deadline=None)
TEXTS = st.text(st.characters(exclude_categories=["Cs"]))
LEAVES = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(10**60), 10**60),
    st.floats(allow_nan=False, allow_infinity=False),
    TEXTS,
)
VALUES = st.recursive(
    LEAVES, lambda v: st.one_of(st.lists(v, max_size=4), st.dictionaries(TEXTS, v, max_size=4))
)
OBJECTS = st.dictionaries(TEXTS, VALUES, max_size=5)


@example(body={"a tie in its last digit": 2.0**-24}, escaped=False)
@UNHURRIED
@given(body=OBJECTS, escaped=st.booleans())
def test_what_is_taken_is_what_was_sent(body: dict[str, Any], escaped: bool) -> None:
    taken = parse(json.dumps(body, ensure_ascii=escaped).encode())
    assert json.dumps(taken) == json.dumps(body)


@UNHURRIED
@given(st.one_of(st.binary(), st.text(st.characters(exclude_categories=["Cs"])).map(str.encode)))
def test_any_bytes_are_an_object_or_a_problem(raw: bytes) -> None:
    with suppress(Problem):
        assert isinstance(parse(raw), dict)


@UNHURRIED
@given(st.text('[]{}",:\\ab1e-.', max_size=200))
def test_any_scribble_is_an_object_or_a_problem(text: str) -> None:
    with suppress(Problem):
        assert isinstance(parse(text.encode()), dict)


@UNHURRIED
@given(st.decimals(allow_nan=False, allow_infinity=False, places=25))
def test_a_number_arrives_as_the_same_digits_or_not_at_all(number: Any) -> None:
    text = format(number, "f")
    try:
        taken = parse(f'{{"x":{text}}}'.encode())["x"]
    except InexactNumber:
        return
    assert abs(Decimal(taken) - number) <= Decimal("5e-26")


@UNHURRIED
@given(st.floats(allow_nan=False, allow_infinity=False), st.integers(0, 40))
def test_a_double_is_taken_at_any_precision_that_tells_it(value: float, digits: int) -> None:
    printed = f"{value:.{digits}e}"
    if float(printed) == value:
        assert parse(f'{{"x":{printed}}}'.encode())["x"] == value


@UNHURRIED
@given(st.integers(1, 200))
def test_depth_is_counted_outside_of_texts_only(depth: int) -> None:
    inside = json.dumps({"text": "[{" * depth + '\\"' + "]"})
    assert parse(inside.encode())
    nested = '{"x":' + "[" * depth + "]" * depth + "}"
    if depth < MAX_DEPTH:
        assert parse(nested.encode())
    else:
        with pytest.raises(NestedTooDeep):
            parse(nested.encode())


def test_many_keys_and_one_of_them_twice_take_no_long_time(api: ApiWorld) -> None:
    keys = ",".join(f'"{n:05d}":0' for n in range(22_000))
    answer = api.submit(f'{{{keys},"21999":0}}')
    assert (answer.code, answer.fields) == ("duplicate_key", ["21999"])
