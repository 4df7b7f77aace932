"""The request is not of the form that its route takes."""

from __future__ import annotations

from taskgate.errors.problem import Problem


class InvalidRequest(Problem):
    """The request is not of the form that this route takes."""

    code, status = "invalid_request", 422


class MalformedJson(InvalidRequest):
    """The body is not strict JSON."""

    code, status = "malformed_json", 400


class EmptyBody(MalformedJson):
    """The body is empty; it must be a JSON object."""

    code = "empty_body"


class DuplicateKey(MalformedJson):
    """A key stands more than once in one JSON object, so it is not clear what is meant."""

    code = "duplicate_key"


class LoneSurrogate(MalformedJson):
    """A text holds half of a surrogate pair, which is no character."""

    code = "lone_surrogate"


class NestedTooDeep(MalformedJson):
    """The body nests too deep."""

    code = "nested_too_deep"


class NotAnObject(MalformedJson):
    """The body is JSON, but not an object."""

    code, status = "not_an_object", 422


class InexactNumber(MalformedJson):
    """A number is larger or finer than the worker's numbers, and would arrive as another."""

    code, status = "inexact_number", 422


class BodyTooLarge(InvalidRequest):
    """The body is over the limit."""

    code, status = "body_too_large", 413


class UnknownTaskType(InvalidRequest):
    """No such task type; GET /v1/task-types lists them."""

    code, field = "unknown_task_type", "type"


class InvalidInput(InvalidRequest):
    """The input does not fit the task type's schema."""

    code = "invalid_input"


class BadIdempotencyKey(InvalidRequest):
    """The Idempotency-Key is not 1 to 255 visible ASCII characters."""

    code, field = "bad_idempotency_key", "Idempotency-Key"


class BadOnBehalfOf(InvalidRequest):
    """Taskgate-On-Behalf-Of is no user's name: 1 to 64 letters, digits, dots, dashes, _ or @."""

    code, field = "bad_on_behalf_of", "Taskgate-On-Behalf-Of"


class BadCursor(InvalidRequest):
    """The cursor is not one that this list gave to this caller."""

    code, field = "bad_cursor", "cursor"


class IdempotencyKeyReused(Problem):
    """The Idempotency-Key was used before, with another request."""

    code, status, field = "idempotency_key_reused", 422, "Idempotency-Key"
