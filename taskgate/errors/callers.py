"""Who asks is not known, or may not."""

from __future__ import annotations

from taskgate.errors.problem import Problem


class Unauthenticated(Problem):
    """The API key is missing, unknown or revoked."""

    code, status = "unauthenticated", 401


class ExpiredKey(Unauthenticated):
    """The API key has expired."""

    code = "expired_key"


class MissingScope(Problem):
    """The API key lacks the scope that this route demands."""

    code, status = "missing_scope", 403


class PriorityNotAllowed(Problem):
    """Your plan does not allow this priority."""

    code, status, field = "priority_not_allowed", 403, "priority"
