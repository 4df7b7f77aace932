"""The verdict on one request, as HTTP API's simple response.

HTTP API turns a plain "no" into a bare 403 that says nothing. So a key that is refused goes on to
the API *as refused*: the context holds no principal, and the API answers 401 with a problem that
says what is wrong. Nothing else is served without a principal (`functions.http.asked`).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from functions.authorizer.tokens import Tokens
from taskgate.apikeys import authenticate
from taskgate.errors import Unauthenticated
from taskgate.events import event
from taskgate.keystore import Keys
from taskgate.plans import Plans

SCHEME: Final = "bearer "


def verdict(
    keys: Keys,
    plans: Plans,
    request: Mapping[str, Any],
    now_seconds: int,
    tokens: Tokens | None = None,
) -> dict[str, Any]:
    """Who asks, and what their plan allows. `Unavailable` passes through: a store out of reach is not a wrong key, and HTTP
    API answers it with 500 and forgets it, where a "no" would be remembered.
    """
    header = str(request.get("headers", {}).get("authorization", ""))
    try:
        text = _token(header)
        # No key holds a dot, and a JWT holds two.
        if tokens is not None and text.count(".") == 2:
            principal = tokens.authenticate(text, plans)
        else:
            principal = authenticate(keys, text, now_seconds, plans)
    except Unauthenticated as refusal:
        event("key_refused", code=refusal.code)
        return {"isAuthorized": True, "context": {"refused": refusal.code}}
    return {"isAuthorized": True, "context": principal.as_context()}


def _token(header: str) -> str:
    if not header.lower().startswith(SCHEME):
        raise Unauthenticated
    return header[len(SCHEME) :].strip()
