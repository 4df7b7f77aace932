"""The guard's one error."""

from __future__ import annotations

from taskgate.errors import TaskgateError


class UnsafeUrl(TaskgateError):
    """No callback goes to this URL."""

    def __init__(self, reason: str) -> None:
        super().__init__(f"No callback goes to this URL: {reason}.")
        self.reason = reason
        """In words of ours: it repeats nothing of the URL, and no address that a name led to."""
