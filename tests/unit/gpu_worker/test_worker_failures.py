"""Each exception has one meaning, found in one table that users may extend."""

from __future__ import annotations

import pytest

from gpu_worker.error_table import ERRORS, OUT_OF_MEMORY, UNKNOWN, UPSTREAM
from gpu_worker.failures import failed, judge
from gpu_worker.output import BadOutput, NotANumber, storable, to_json
from gpu_worker.runner import Permanent, Transient, Verdict
from taskgate.lifecycle.retry import ErrorClass, ErrorCode


class ContentRefused(Exception):
    pass


class Unreadable(Exception):
    def __str__(self) -> str:
        raise RuntimeError("no text for you")


REJECTED = Verdict(ErrorCode.CONTENT_REJECTED, ErrorClass.PERMANENT)


@pytest.mark.parametrize(
    ("error", "verdict"),
    [
        (MemoryError(), OUT_OF_MEMORY),
        (type("OutOfMemoryError", (RuntimeError,), {"__module__": "torch"})(), OUT_OF_MEMORY),
        (ConnectionResetError(), UPSTREAM),
        (TimeoutError(), UPSTREAM),
        (ValueError(), UNKNOWN),
        (SystemExit(3), UNKNOWN),
        (BadOutput(), Verdict(ErrorCode.MODEL_ERROR, ErrorClass.PERMANENT)),
        (NotANumber(), UNKNOWN),
        (Permanent("bad"), Verdict(ErrorCode.INVALID_INPUT, ErrorClass.PERMANENT)),
        (Permanent("no", code="content_rejected"), REJECTED),
        (Transient("busy"), UPSTREAM),
        (
            Transient("none left", code=ErrorCode.QUOTA_EXHAUSTED),
            Verdict(ErrorCode.QUOTA_EXHAUSTED, ErrorClass.TRANSIENT),
        ),
    ],
    ids=lambda value: type(value).__name__,
)
def test_an_exception_means_what_the_table_says(error: BaseException, verdict: Verdict) -> None:
    assert judge(error) == verdict


def test_the_nearest_base_class_wins() -> None:
    class Mine(ConnectionResetError):
        pass

    assert judge(Mine()) == UPSTREAM


def test_a_runners_own_rows_come_before_the_general_ones() -> None:
    own = {"builtins.TimeoutError": OUT_OF_MEMORY, f"{__name__}.ContentRefused": REJECTED}
    assert judge(TimeoutError(), own) == OUT_OF_MEMORY
    assert judge(ContentRefused(), own) == REJECTED


def test_a_deployment_may_add_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(ERRORS, f"{__name__}.ContentRefused", REJECTED)
    assert judge(ContentRefused()) == REJECTED


def test_a_code_that_does_not_exist_is_refused_where_it_is_written() -> None:
    with pytest.raises(ValueError, match="no_such_code"):
        Permanent("x", code="no_such_code")


def test_the_word_carries_code_class_and_the_upstreams_pause() -> None:
    error = Transient("busy", retry_after=7.5)
    word = failed(4, error, judge(error))
    assert (word.number, word.code, word.error_class) == (4, "upstream_error", "transient")
    assert (word.message, word.retry_after, word.restart) == ("busy", 7.5, False)


def test_an_error_whose_text_cannot_be_read_is_reported_all_the_same() -> None:
    assert failed(1, Unreadable(), UNKNOWN).message == "Unreadable: (its text cannot be read)"


def test_a_result_is_strict_json_within_its_bound() -> None:
    assert to_json(None) is None
    assert to_json({"a": [1, "ü\x00👩‍🚀"]}) == '{"a":[1,"ü\\u0000👩‍🚀"]}'


@pytest.mark.parametrize(
    "output",
    [[1], "text", {"a": object()}, {"a": {1, 2}}, {"a": "\ud800"}, {"a": "x" * 9000}, {"b": b""}],
    ids=["list", "text", "object", "set", "lone surrogate", "too big", "bytes"],
)
def test_a_result_that_cannot_be_kept_is_the_runners_fault(output: object) -> None:
    with pytest.raises(BadOutput):
        to_json(output)


def test_a_result_that_refers_to_itself_is_the_runners_fault() -> None:
    loop: dict[str, object] = {}
    loop["me"] = loop
    with pytest.raises(BadOutput):
        to_json(loop)


@pytest.mark.parametrize("number", [float("nan"), float("inf"), -float("inf")])
def test_a_result_that_is_not_a_number_may_be_tried_again(number: float) -> None:
    with pytest.raises(NotANumber):
        to_json({"score": number})


def test_storable_text_holds_whole_characters_within_its_bound() -> None:
    assert storable("a\ud800b", 100) == "a?b"
    assert len(storable("ü" * 100, 50).encode()) <= 50
