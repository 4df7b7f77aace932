"""The routes of API keys, as their caller should understand them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from functions.http.operation import JSON_BODY, READS, Answered, Operation, Parameter
from functions.http.shapes import TEXT
from taskgate import errors
from taskgate.apikeys import KEY_ID

ID: Final = Parameter(
    "key_id",
    "path",
    "The 12 letters behind `tg_`.",
    {"type": "string", "pattern": f"^{KEY_ID.pattern}$"},
    required=True,
)
GIVES: Final = (
    " Nobody gives away what is not theirs: an administrator's key is for the own tenant, of the own plan,"
    " with at most the own limit and no scope but the own."
)
KEYS: Final[Mapping[tuple[str, str], Operation]] = {
    ("POST", "/v1/admin/keys"): Operation(
        name="issueKey",
        scope="admin",
        summary="Issue an API key",
        about="Its text is answered this once; only the SHA-256 of its secret is kept." + GIVES,
        body="IssueKey",
        answers={201: Answered("The key.", "NewApiKey")},
        refuses=(*JSON_BODY, errors.MissingScope),
    ),
    ("GET", "/v1/admin/keys"): Operation(
        name="listKeys",
        scope="admin",
        summary="The API keys of your tenant, or as an operator all",
        about="With rights, state and history, never with a secret. A page may be short or empty;"
        " `next_cursor` is null on the last one only.",
        parameters=(Parameter("cursor", "query", "`next_cursor` of the page before.", TEXT),),
        answers={200: Answered("A page.", "ApiKeys")},
        refuses=(*READS, errors.BadCursor),
    ),
    ("GET", "/v1/admin/keys/{key_id}"): Operation(
        name="getKey",
        scope="admin",
        summary="An API key with its history",
        parameters=(ID,),
        answers={200: Answered("The key's record.", "ApiKey")},
        refuses=(*READS, errors.UnknownKey),
    ),
    ("POST", "/v1/admin/keys/{key_id}/rotate"): Operation(
        name="rotateKey",
        scope="admin",
        summary="A new key with the same rights; the old one works on for the overlap",
        about="The new one is stored before the old one is shortened: if anything breaks between, nobody"
        " is locked out. An administrator rotates no key of a scope that is not the own, and may revoke it.",
        parameters=(ID,),
        body="RotateKey",
        body_required=False,
        answers={201: Answered("The new key.", "NewApiKey")},
        refuses=(*JSON_BODY[1:], errors.MissingScope, errors.UnknownKey, errors.KeyEnded),
    ),
    ("POST", "/v1/admin/keys/{key_id}/revoke"): Operation(
        name="revokeKey",
        scope="admin",
        summary="End an API key now",
        about="Safe to repeat. The HTTP API may remember an earlier yes for a minute.",
        parameters=(ID,),
        body="RevokeKey",
        body_required=False,
        answers={200: Answered("The key's record.", "ApiKey")},
        refuses=(*JSON_BODY[1:], errors.MissingScope, errors.UnknownKey),
    ),
}
