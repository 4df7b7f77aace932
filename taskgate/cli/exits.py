"""The exit codes, and what is said about an error: one line what, one line what to do.

====  =====================================================================
code  meaning
====  =====================================================================
0     done
1     the task ended without a result, or `reconcile` or `redrive` leaves something undone
2     the command, its options or its settings are wrong
3     there is no such task, key or bulk act
4     the gateway refused the request (any other 4xx)
5     the gateway is out of reach or could not serve the request (5xx)
6     the wait timed out; the task goes on
130   Ctrl-C
====  =====================================================================
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import IntEnum
from typing import Final

from taskgate.client import (
    ApiError,
    ClientError,
    DownloadCorrupt,
    Misunderstood,
    NotConfigured,
    NotFound,
    Refused,
    ServerError,
    TaskEnded,
    Unreachable,
    Unsendable,
    UploadRefused,
    WaitTimeout,
)


class Exit(IntEnum):
    """Stable: scripts rely on these."""

    DONE = 0
    ENDED_BADLY = 1
    USAGE = 2
    NOT_FOUND = 3
    REFUSED = 4
    UNREACHABLE = 5
    WAIT_TIMED_OUT = 6
    INTERRUPTED = 130


class CommandError(Exception):
    """A command could not do its work, for a reason that is not the gateway's."""

    def __init__(self, what: str, advice: str, code: Exit) -> None:
        super().__init__(what)
        self.advice, self.code = advice, code


_CODES: tuple[tuple[type[ClientError] | tuple[type[ClientError], ...], Exit], ...] = (
    (TaskEnded, Exit.ENDED_BADLY),
    ((NotConfigured, Unsendable), Exit.USAGE),
    (NotFound, Exit.NOT_FOUND),
    ((Refused, UploadRefused), Exit.REFUSED),
    (WaitTimeout, Exit.WAIT_TIMED_OUT),
)


_PAUSED: Final = "Its operators paused it; what was accepted goes on. Try again in {wait}."
_BY_CODE: Mapping[str, str] = {
    "body_too_large": "Upload what is large: `--file FIELD=PATH` does, and refers to it.",
    "idempotency_key_reused": "Send the first request unchanged, or this one with a key of its own.",
    "intake_paused": _PAUSED,
    "invalid_input": "`taskgate types NAME` shows what a task type takes.",
    "lane_full": "Wait {wait}, or choose another priority.",
    "priority_not_allowed": "Choose another priority, or ask for another plan.",
    "rate_limited": "Wait {wait}, and send more slowly.",
    "result_expired": "Submit the task again; results are kept for a time.",
    "task_expired": "Nothing more of it is kept.",
    "result_not_ready": "`taskgate watch ID` waits until it has ended.",
    "too_many_pending_tasks": "Wait until one of your tasks ends, or cancel one: `taskgate list`.",
    "type_paused": _PAUSED,
    "unknown_task_type": "`taskgate types` shows what each task type takes.",
    "no_callback": "`taskgate submit --callback-url URL` asks for one.",
    "verb_not_allowed": "`taskgate explain ID` says what it waits for and what you may ask of it.",
}
_ADVICE: Mapping[type[ClientError], str] = {
    NotConfigured: "Give --url and --api-key both; or neither, in the folder where `taskgate dev` runs.",
    Unsendable: "Nothing was sent; correct the input.",
    Misunderstood: "Check the address (TASKGATE_URL or --url).",
    UploadRefused: "Upload it again; its bytes must not change meanwhile.",
    DownloadCorrupt: "Try again; if it stays, the file in the bucket is damaged.",
}


def code_of(error: ClientError | CommandError) -> Exit:
    """The exit code of an error; what is nobody else's fault is the gateway's."""
    if isinstance(error, CommandError):
        return error.code
    return next((code for kind, code in _CODES if isinstance(error, kind)), Exit.UNREACHABLE)


def what_of(error: ClientError | CommandError) -> str:
    """What went wrong, in one line."""
    return " ".join(str(error).split())


def advice_of(error: ClientError | CommandError) -> str:
    """What to do about it, in one line."""
    match error:
        case CommandError():
            return error.advice
        case TaskEnded() | WaitTimeout():
            verb = "watch" if isinstance(error, WaitTimeout) else "get"
            return f"See it with: taskgate {verb} {error.task_id}"
        case Unreachable():
            return _when_unreachable(error)
        case ApiError():
            return _when_refused(error)
    return _ADVICE.get(type(error), "Try again.")


def _when_unreachable(error: Unreachable) -> str:
    if error.idempotency_key:
        return _again(error.idempotency_key)
    if error.task_id:
        return f"The task goes on. Look again with: taskgate watch {error.task_id}"
    return "Check the address; `taskgate dev` starts a gateway on this machine."


def _when_refused(error: ApiError) -> str:
    if error.code in _BY_CODE:
        return _BY_CODE[error.code].format(wait=_wait(error))
    if isinstance(error, ServerError):
        return _when_broken(error)
    if isinstance(error, NotFound):
        return "`taskgate list` shows your tasks."
    if error.status in {401, 403}:
        return "Check the API key and its scopes (TASKGATE_API_KEY or --api-key)."
    if error.status == 429:
        return f"Wait {_wait(error)}; the gateway as a whole is asked for more than it takes."
    return f"The gateway's code for this is {error.code}; correct the request."


def _when_broken(error: ServerError) -> str:
    told = f" Its operators find the request by {error.request_id}." if error.request_id else ""
    if error.idempotency_key:
        return _again(error.idempotency_key) + told
    return f"Try again in a minute; what was accepted is on record.{told}"


def _again(key: str) -> str:
    return (
        "The task may be on record. Submit the same with "
        f"--idempotency-key {key} and you get that one."
    )


def _wait(error: ApiError) -> str:
    return f"{error.retry_after:g} s" if error.retry_after else "a little"
