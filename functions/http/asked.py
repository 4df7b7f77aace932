"""What was asked: one HTTP API event (payload 2.0), parsed and checked at the door."""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from functions.http import strict_json
from taskgate.errors import (
    BadIdempotencyKey,
    ExpiredKey,
    FieldProblem,
    InvalidRequest,
    MalformedJson,
    TaskNotFound,
    Unauthenticated,
)
from taskgate.gateway.views.reading import MAX_WAIT, TASK_ID
from taskgate.nearest import did_you_mean, in_words
from taskgate.principal import Principal
from taskgate.tracing import Incoming, incoming

ON_BEHALF_OF: Final = "taskgate-on-behalf-of"
IDEMPOTENCY_KEY: Final = re.compile(r"[\x21-\x7e]{1,255}")
NO_TASK_ID: Final = "There is no such task: an id is task_ and 26 digits and capitals."
PREFER_WAIT: Final = re.compile(
    r"(?:^|[,;])\s*wait\s*=\s*\"?([0-9]{1,9})\"?\s*(?:$|[,;])", re.IGNORECASE
)


@dataclass(frozen=True, slots=True)
class Asked:
    """A request for a known route."""

    event: Mapping[str, Any]
    arguments: Mapping[str, str]
    """The path's parameters."""

    @property
    def principal(self) -> Principal:
        """Who asks; `Unauthenticated` unless the authorizer says so."""
        return authenticated(self.event)

    @property
    def task_id(self) -> str:
        """The path's task id; one of another shape cannot be on record, so no store is asked."""
        task_id = self.arguments["task_id"]
        if not TASK_ID.fullmatch(task_id):
            raise TaskNotFound(NO_TASK_ID)
        return task_id

    @property
    def idempotency_key(self) -> str | None:
        key = self.header("idempotency-key")
        if key is not None and not IDEMPOTENCY_KEY.fullmatch(key):
            raise BadIdempotencyKey
        return key

    def header(self, name: str) -> str | None:
        """A header by its lower-case name, as HTTP API writes them all."""
        found = self.event.get("headers", {}).get(name)
        return None if found is None else str(found)

    def query(self, *known: str, prefix: str | None = None) -> Mapping[str, str]:
        """The query's parameters. An unknown one is refused: it might be a filter we do not know,
        and an answer that ignores it would be an untrue one. All with the prefix are known.
        """
        given = self.event.get("queryStringParameters") or {}
        unknown = sorted(n for n in given.keys() - known if not (prefix and n.startswith(prefix)))
        if unknown:
            words = (*known, f"{prefix}NAME") if prefix else known
            raise InvalidRequest(fields=[_no_parameter(name, words) for name in unknown])
        return given

    @property
    def preferred_wait(self) -> int:
        """Seconds of `Prefer: wait=N` (RFC 7240), at most `MAX_WAIT`; 0 for none or nonsense."""
        found = PREFER_WAIT.search(self.header("prefer") or "")
        return min(int(found[1]), MAX_WAIT) if found else 0

    @property
    def caller_trace(self) -> Incoming | None:
        """The trace that the caller asks in; a malformed one counts as none, as the standard says."""
        return incoming(self.header("traceparent"), self.header("tracestate"))

    def body(self) -> Mapping[str, Any]:
        """The body as a JSON object."""
        return strict_json.parse(self.raw_body())

    def optional_body(self) -> Mapping[str, Any]:
        """The body as a JSON object; an empty one stands for all defaults."""
        return self.body() if self.raw_body().strip() else {}

    def raw_body(self) -> bytes:
        """The body's bytes; HTTP API sends them in base64 unless the content type is a text."""
        text = self.event.get("body") or ""
        if not self.event.get("isBase64Encoded"):
            return str(text).encode("utf-8", "surrogatepass")
        if len(text) > strict_json.MAX_BODY_BYTES * 2:
            raise strict_json.too_large()
        try:
            return base64.b64decode(text, validate=True)
        except (binascii.Error, ValueError):
            raise MalformedJson("The body is not the base64 that it is said to be.") from None


def authenticated(event: Mapping[str, Any]) -> Principal:
    """The principal that the authorizer wrote into the event, or why there is none.

    The authorizer's answer is remembered by the key alone, and for a while: so for whom a server acts is
    read here, and so is the time.
    """
    context = authorizer_context(event)
    if refusal := context.get("refused"):
        raise ExpiredKey if refusal == ExpiredKey.code else Unauthenticated
    principal = Principal.from_context(context)
    if principal.ends_at is not None and principal.ends_at <= _seconds_of(event):
        raise ExpiredKey
    user = event.get("headers", {}).get(ON_BEHALF_OF)
    return principal if user is None else principal.on_behalf_of(str(user))


def _seconds_of(event: Mapping[str, Any]) -> int:
    """When the request came, by the HTTP API's own clock."""
    return int(event["requestContext"].get("timeEpoch", 0)) // 1000


def _no_parameter(name: str, known: Sequence[str]) -> FieldProblem:
    takes = f"; it takes {in_words(known)}" if known else ""
    hint = did_you_mean(name, known) or takes
    return FieldProblem(name, f"is no parameter of this route{hint}")


def authorizer_context(event: Mapping[str, Any]) -> Mapping[str, Any]:
    """What the authorizer handed on; empty on a public route."""
    authorizer = event["requestContext"].get("authorizer") or {}
    return authorizer.get("lambda") or {}


def whole_number(name: str, text: str, low: int, high: int) -> int:
    """A query parameter that is a whole number within its bounds."""
    if text.isascii() and text.isdigit() and len(text) <= 9 and low <= int(text) <= high:
        return int(text)
    raise InvalidRequest(fields=[FieldProblem(name, f"must be a whole number, {low} to {high}")])


def yes_or_no(name: str, text: str) -> bool:
    """A query parameter that is `true` or `false`."""
    if text not in {"true", "false"}:
        raise InvalidRequest(fields=[FieldProblem(name, "must be true or false")])
    return text == "true"
