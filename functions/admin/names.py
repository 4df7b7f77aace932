"""Names of tenants, users and plans in paths."""

from __future__ import annotations

from urllib.parse import unquote

from functions.http.asked import Asked
from taskgate.principal import NAME


def name_of(asked: Asked, argument: str) -> str | None:
    """The name in the path; None when nobody can bear it. Clients may write its @ as %40."""
    name = unquote(asked.arguments[argument])
    return name if NAME.fullmatch(name) else None
