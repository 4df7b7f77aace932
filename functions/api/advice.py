"""What a caller should do about each error code. A test wants a line for every code there is."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

_REPAIR: Final = "repair the request; `errors` names each field and its bound"
_BODY: Final = "repair the body; the same one will be refused again"

ADVICE: Final[Mapping[str, str]] = {
    "bad_cursor": "start the list anew, or send the filters that gave the cursor",
    "bad_idempotency_key": "send another key; a UUID will do",
    "bad_on_behalf_of": "send the user's name as your tenant knows it",
    "body_too_large": "upload what is large and refer to it; send less",
    "duplicate_key": _BODY,
    "empty_body": "send a JSON object",
    "expired_key": "ask for a new key, or rotate before the end next time",
    "idempotency_key_reused": "send the first request unchanged, or this one with a key of its own",
    "inexact_number": "send the number as a text, or with fewer digits",
    "bulk_not_found": "plan it anew: a bulk act is kept for 90 days",
    "bad_confirm_token": "plan it anew, look, and confirm with the token of that plan",
    "intake_paused": "wait `Retry-After` seconds and send the same request with the same key",
    "internal_error": "try again with the same key; report the `instance` if it stays",
    "invalid_input": "repair the input by the schema in `GET /v1/task-types`",
    "invalid_request": _REPAIR,
    "key_ended": "issue a new key",
    "key_not_found": "list the keys: another tenant's key is not found either",
    "lane_full": "wait `Retry-After` seconds, or choose another priority",
    "ledger_not_found": "check the tenant and the user: another tenant's books are not found either",
    "lone_surrogate": "send whole characters; something cut a text in the middle of one",
    "malformed_json": _BODY,
    "method_not_allowed": "use a method of the `Allow` header",
    "missing_scope": "use a key that has the scope in `detail`",
    "nested_too_deep": _BODY,
    "no_callback": "submit with a `callback_url`; this task has none",
    "no_plan_name": "choose another name",
    "no_such_route": "look at the table above",
    "not_an_object": "send a JSON object",
    "plan_moved": "look at the plan as it is now, then set it again",
    "priority_not_allowed": "choose a priority of your plan, or ask for another plan",
    "rate_limited": "wait `Retry-After` seconds; send more slowly",
    "result_expired": "submit the task again; results are kept for a time",
    "result_file_not_found": "choose a name of the manifest: `?inline=true`",
    "result_not_ready": "wait until the state is `succeeded`; a failed task has no result",
    "task_expired": "nothing; `detail` says how the task ended",
    "task_not_found": "check the id and whose key it is: another user's task is not found either",
    "too_many_pending_tasks": "wait until one of your tasks ends, or cancel one",
    "type_paused": "wait `Retry-After` seconds, or use another task type",
    "unauthenticated": "send `Authorization: Bearer tg_…` with a key that is not revoked",
    "unavailable": "try again after `Retry-After` seconds, with the same key",
    "unknown_task_type": "choose a name of `GET /v1/task-types`",
    "verb_not_allowed": "look at `state`; `explain` says what may be done in it",
}
