"""From an answer of 400 and above to the exception that tells of it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from http import HTTPStatus
from typing import Any

import httpx

from taskgate.client.backoff import retry_after_of
from taskgate.client.errors import (
    ApiError,
    ClientError,
    FieldProblem,
    Misunderstood,
    NotFound,
    Refused,
    ServerError,
)


def problem_of(response: httpx.Response) -> ClientError:
    """From its RFC 9457 body, if it has one; a proxy, AWS or a crash may have answered instead."""
    body, status = _object(response), response.status_code
    if status == HTTPStatus.NOT_FOUND and "code" not in body:
        # Each 404 of Taskgate's own says of what: this is another address, or an older gateway.
        path = response.url.raw_path.decode().partition("?")[0]
        return Misunderstood(f"{server_of(response)} has nothing at {path} (HTTP 404).")
    return _kind(status)(
        _said(body) or f"{server_of(response)} answered HTTP {status}.",
        status=status,
        code=str(body.get("code") or f"http_{status}"),
        fields=tuple(_fields(body.get("errors"))),
        retry_after=retry_after_of(response),
        request_id=_request_id(response, body),
        idempotency_key=response.request.headers.get("Idempotency-Key"),
    )


def server_of(response: httpx.Response) -> str:
    """The address that answered, without what may be secret in a URL."""
    return f"{response.url.scheme}://{response.url.netloc.decode()}"


def _said(body: Mapping[str, Any]) -> str:
    return str(body.get("detail") or body.get("title") or body.get("message") or "")


def _fields(errors: object) -> Iterator[FieldProblem]:
    for wrong in errors if isinstance(errors, list) else ():
        if isinstance(wrong, dict):
            yield FieldProblem(str(wrong.get("field", "")), str(wrong.get("message", "")))


def _request_id(response: httpx.Response, body: Mapping[str, Any]) -> str | None:
    found = body.get("instance") or response.headers.get("apigw-requestid")
    return str(found) if found else None


def _kind(status: int) -> type[ApiError]:
    if status in {HTTPStatus.NOT_FOUND, HTTPStatus.GONE}:
        return NotFound
    return Refused if status < HTTPStatus.INTERNAL_SERVER_ERROR else ServerError


def _object(response: httpx.Response) -> Mapping[str, Any]:
    """The JSON object of the body; empty when it is something else."""
    try:
        body = response.json()
    except (ValueError, RecursionError):
        return {}
    return body if isinstance(body, dict) else {}
