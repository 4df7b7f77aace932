"""What is asked for is not there, no more, or not so that this can be done to it."""

from __future__ import annotations

from taskgate.errors.problem import Problem


class TaskNotFound(Problem):
    """There is no such task."""

    code, status = "task_not_found", 404


class ResultFileNotFound(Problem):
    """The task's result has no file of this name."""

    code, status, field = "result_file_not_found", 404, "file"


class ResultNotReady(Problem):
    """The task has no result, or not yet."""

    code, status = "result_not_ready", 409

    def __init__(self, state: str) -> None:
        super().__init__(f"The task is {state}; only a task that succeeded has a result.")
        self.state = state


class ResultExpired(Problem):
    """The result was kept for its time and is gone."""

    code, status = "result_expired", 410


class TaskExpired(Problem):
    """The task ended long ago; only its end is still known."""

    code, status = "task_expired", 410

    def __init__(self, state: str, ended: str) -> None:
        super().__init__(f"The task {state.replace('_', ' ')} at {ended}; the rest is not kept.")
        self.state, self.ended = state, ended


class NoCallback(Problem):
    """The task was submitted without a callback_url."""

    code, status = "no_callback", 409


class VerbNotAllowed(Problem):
    """The task's state does not allow this."""

    code, status = "verb_not_allowed", 409

    def __init__(self, message: str | None = None, state: str | None = None) -> None:
        super().__init__(message)
        self.state = state
        """The task's state, where it is known to be the reason."""


class LedgerNotFound(Problem):
    """Nothing was ever submitted for this user."""

    code, status = "ledger_not_found", 404


class UnknownKey(Problem):
    """There is no such API key."""

    code, status = "key_not_found", 404


class KeyEnded(Problem):
    """The API key is revoked or has expired."""

    code, status = "key_ended", 409


class NoPlanName(Problem):
    """No plan can have this name: 1 to 64 letters, digits, dots, dashes, _ or @."""

    code, status = "no_plan_name", 404


class PlanMoved(Problem):
    """Somebody else set this plan at the same time. Look at it, then set it again."""

    code, status = "plan_moved", 409


class BulkNotFound(Problem):
    """There is no such bulk act."""

    code, status = "bulk_not_found", 404


class BadConfirmToken(Problem):
    """The token does not confirm this: it is another plan's, another operator's, or too old."""

    code, status, field = "bad_confirm_token", 409, "token"
