"""What an upstream answered is understood by its shape, whichever library brought the answer."""

from __future__ import annotations

import email.utils
import json
import time
import urllib.error
from email.message import Message
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import httpx
import pytest
from botocore.exceptions import ClientError

from gpu_worker.error_table import (
    BROKEN_GPU,
    ERRORS,
    INVALID,
    OUT_OF_MEMORY,
    QUOTA,
    REFUSED,
    REJECTED,
    UNKNOWN,
    UPSTREAM,
    as_markdown,
    check,
)
from gpu_worker.failures import failed, judge
from gpu_worker.runner import Verdict
from gpu_worker.upstream import LONGEST_RETRY_AFTER, retry_after_of
from taskgate.errors import BadSetting
from taskgate.lifecycle.retry import ErrorClass, ErrorCode

PAGE = Path(__file__).parents[3] / "docs" / "how-to" / "handle-errors.md"


def from_httpx(status: int, body: Any = None, **headers: str) -> httpx.HTTPStatusError:
    request = httpx.Request("POST", "http://model")
    answer = httpx.Response(status, json=body or {}, headers=headers, request=request)
    return httpx.HTTPStatusError("bad", request=request, response=answer)


class StatusError(Exception):
    """As the openai and anthropic SDKs make them."""

    def __init__(self, status: int, body: Any = None, headers: Any = None) -> None:
        super().__init__(f"Error code: {status}")
        detail = (body or {}).get("error", {})
        self.status_code, self.body = status, body
        self.code, self.type = detail.get("code"), detail.get("type")
        self.response = SimpleNamespace(status_code=status, headers=headers or {})


def from_openai(status: int, code: str | None, kind: str | None = None) -> StatusError:
    return StatusError(status, {"error": {"code": code, "type": kind, "message": "no"}})


def from_urllib(status: int) -> urllib.error.HTTPError:
    headers = Message()
    headers["Retry-After"] = "7"
    return urllib.error.HTTPError("http://model", status, "no", headers, None)


def from_botocore(code: str, status: int) -> ClientError:
    return ClientError(
        {"Error": {"Code": code}, "ResponseMetadata": {"HTTPStatusCode": status}},  # type: ignore[typeddict-item]
        "InvokeModel",
    )


@pytest.mark.parametrize(
    ("status", "verdict"),
    [
        *((status, INVALID) for status in (400, 404, 413, 422)),
        *((status, REFUSED) for status in (401, 403, 301, 418)),
        (402, QUOTA),
        (451, REJECTED),
        *((status, UPSTREAM) for status in (408, 425, 429, 500, 502, 503, 504, 529)),
    ],
)
def test_a_status_means_the_same_whichever_library_saw_it(status: int, verdict: Verdict) -> None:
    with from_urllib(status) as urllib_error:
        for error in (
            from_httpx(status),
            StatusError(status),
            urllib_error,
            type("ClientResponseError", (Exception,), {"status": status})(),
            from_botocore("SomethingNew", status),
        ):
            assert judge(error) == verdict, repr(error)


@pytest.mark.parametrize(
    ("error", "verdict"),
    [
        (from_openai(400, "context_length_exceeded", "invalid_request_error"), INVALID),
        (from_openai(400, "content_policy_violation", "image_generation_user_error"), REJECTED),
        (from_openai(429, "insufficient_quota", "insufficient_quota"), QUOTA),
        (from_openai(429, "rate_limit_exceeded", "requests"), UPSTREAM),
        (from_openai(403, None, "invalid_request_error"), REFUSED),
        (StatusError(200, {"type": "error", "error": {"type": "overloaded_error"}}), UPSTREAM),
        (from_httpx(429, {"error": {"code": "insufficient_quota"}}), QUOTA),
        (from_httpx(400, {"error": "content_filter"}), REJECTED),
        (from_botocore("ThrottlingException", 400), UPSTREAM),
        (from_botocore("ValidationException", 400), INVALID),
    ],
    ids=lambda value: getattr(value, "code", None) or type(value).__name__,
)
def test_a_providers_own_code_says_more_than_the_status(error: Exception, verdict: Verdict) -> None:
    assert judge(error) == verdict


@pytest.mark.parametrize(
    ("text", "verdict"),
    [
        ("CUDA out of memory. Tried to allocate 20.00 GiB", OUT_OF_MEMORY),
        ("CUDA error: out of memory", OUT_OF_MEMORY),
        ("CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling `cublasCreate`", OUT_OF_MEMORY),
        ("MPS backend out of memory", OUT_OF_MEMORY),
        ("CUDA error: device-side assert triggered", BROKEN_GPU),
        ("cuDNN error: CUDNN_STATUS_EXECUTION_FAILED", BROKEN_GPU),
        ("shape mismatch", UNKNOWN),
    ],
)
def test_what_cuda_says_in_a_runtime_error_is_understood(text: str, verdict: Verdict) -> None:
    assert judge(RuntimeError(text)) == verdict


def test_words_of_a_user_in_another_error_do_not_replace_the_child() -> None:
    assert judge(ValueError("prompt 'CUDA out of memory' is too short")) == UNKNOWN


def test_an_unknown_error_is_judged_by_what_caused_it() -> None:
    wrapped = Exception("APIConnectionError")
    wrapped.__cause__ = Exception("in between")
    wrapped.__cause__.__cause__ = httpx.ConnectTimeout("slow")
    assert judge(wrapped) == UPSTREAM


def test_a_circle_of_causes_ends() -> None:
    one, other = Exception(), Exception()
    one.__cause__, other.__cause__ = other, one
    assert judge(one) == UNKNOWN


def test_a_property_that_raises_counts_as_absent() -> None:
    class Nasty(Exception):
        @property
        def response(self) -> Any:
            raise RuntimeError("not read yet")

        status_code = 503

    assert judge(Nasty()) == UPSTREAM


HOUR = 3600.0


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"Retry-After": "7"}, 7),
        ({"retry-after": "1.5"}, 1.5),
        ({"retry-after-ms": "250", "Retry-After": "1"}, 0.25),
        ({"Retry-After": "-3"}, 0),
        ({"Retry-After": "nan"}, None),
        ({"Retry-After": "soon"}, None),
        ({"Retry-After": "99999999999"}, LONGEST_RETRY_AFTER),
        (
            {
                "Retry-After": "Sun, 29 Nov 2026 13:00:00 GMT",
                "Date": "Sun, 29 Nov 2026 12:00:00 GMT",
            },
            HOUR,
        ),
        ({}, None),
        (None, None),
    ],
)
def test_retry_after_is_read_as_seconds_or_as_a_date(headers: Any, seconds: float | None) -> None:
    assert retry_after_of(StatusError(429, headers=headers)) == seconds


def test_a_date_without_the_upstreams_own_clock_is_read_by_ours() -> None:
    at = email.utils.formatdate(time.time() + 60, usegmt=True)
    seconds = retry_after_of(StatusError(503, headers={"Retry-After": at}))
    assert seconds is not None
    assert 55 < seconds <= 60


def test_the_upstreams_pause_reaches_the_supervisor_for_what_is_tried_again() -> None:
    busy, refused = from_httpx(429, **{"Retry-After": "9"}), from_httpx(400, **{"Retry-After": "9"})
    wrapped = Exception("it failed")
    wrapped.__cause__ = busy
    assert failed(1, busy, judge(busy)).retry_after == 9
    assert failed(1, wrapped, judge(wrapped)).retry_after == 9
    assert failed(1, refused, judge(refused)).retry_after is None


def test_a_runner_may_add_rows_of_every_kind() -> None:
    own = {
        "code nsfw": REJECTED,
        "http 400": UPSTREAM,
        "text tokenizer is poisoned": OUT_OF_MEMORY,
        "builtins.LookupError": INVALID,
    }
    check(own)
    assert judge(from_openai(500, "nsfw"), own) == REJECTED
    assert judge(from_httpx(400), own) == UPSTREAM
    assert judge(RuntimeError("The tokenizer is poisoned"), own) == OUT_OF_MEMORY
    assert judge(KeyError("x"), own) == INVALID


@pytest.mark.parametrize(
    "key", ["ValueError", "http 4x", "http 42", "code", "text ", "", "Http 400"]
)
def test_a_row_that_could_never_match_is_refused_when_the_runner_is_loaded(key: str) -> None:
    with pytest.raises(BadSetting, match="errors is"):
        check({key: INVALID})


def test_every_row_of_the_table_can_match_and_has_a_code_of_ours() -> None:
    check(ERRORS)
    assert {v.code for v in ERRORS.values()} >= {
        ErrorCode.INVALID_INPUT,
        ErrorCode.CONTENT_REJECTED,
        ErrorCode.QUOTA_EXHAUSTED,
        ErrorCode.UPSTREAM_ERROR,
        ErrorCode.OUT_OF_MEMORY,
    }
    assert all(
        v.error_class in (ErrorClass.PERMANENT, ErrorClass.TRANSIENT) for v in ERRORS.values()
    )


def test_the_page_shows_the_table_as_the_code_has_it() -> None:
    problem = "run: python -m gpu_worker.error_table, and paste it into the page"
    assert as_markdown() in PAGE.read_text("utf-8"), problem


def test_the_body_of_an_answer_that_was_not_read_is_left_alone() -> None:
    def stream() -> Any:
        yield json.dumps({"error": {"code": "insufficient_quota"}}).encode()
        raise AssertionError("read")

    request = httpx.Request("POST", "http://model")
    answer = httpx.Response(429, content=stream(), request=request)
    error = httpx.HTTPStatusError("bad", request=request, response=answer)
    assert judge(error) == UPSTREAM
