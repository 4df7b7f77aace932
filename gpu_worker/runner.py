"""What a runner is written against: two methods, and exceptions that say what may be done next.

A runner's `run` may raise::

    Permanent      trying again cannot help: the input is bad, or was refused
    Transient      trying again may help, at the earliest after `retry_after` seconds
    Snooze         nothing is wrong; call me again in so many seconds (no budget is spent)
    anything else  looked up in the error table (`gpu_worker.error_table`)

`TaskCanceled` is raised *to* the runner, by its context. It is a `BaseException`, so that a model's
``except Exception`` does not swallow it; release what you hold and let it pass.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from gpu_worker.context import Context, TaskCanceled
from taskgate.lifecycle.retry import ErrorClass, ErrorCode

__all__ = ["Context", "Permanent", "Runner", "Snooze", "TaskCanceled", "Transient", "Verdict"]


@dataclass(frozen=True, slots=True)
class Verdict:
    """What an exception means: its code, whether to try again, whether the child is still fit."""

    code: ErrorCode
    error_class: ErrorClass
    restart: bool = False
    """The child must be replaced before it runs anything else."""


class Runner:
    """Base of a runner. `setup` once per process, then many `run`s, one at a time."""

    errors: ClassVar[Mapping[str, Verdict]] = {}
    """More rows for the error table (see `gpu_worker.error_table`); they come before the general ones."""

    def setup(self) -> None:
        """Load weights and warm up. Bounded by the type's `startup_timeout`."""

    def run(self, *args: Any, **task_input: Any) -> dict[str, Any] | None:
        """Do one task: ``run(self, ctx, **task_input)``, the input's fields as keyword arguments.

        Files go through `ctx.file`; return a small JSON object, or nothing. Every runner brings its own.
        """
        raise NotImplementedError


class Permanent(Exception):
    """Trying again cannot help."""

    def __init__(self, message: str, code: ErrorCode | str = ErrorCode.INVALID_INPUT) -> None:
        super().__init__(message)
        self.code = ErrorCode(code)


class Transient(Exception):
    """Trying again may help; `retry_after` is seconds, as the upstream asked."""

    def __init__(
        self,
        message: str,
        retry_after: float | None = None,
        code: ErrorCode | str = ErrorCode.UPSTREAM_ERROR,
    ) -> None:
        super().__init__(message)
        self.retry_after, self.code = retry_after, ErrorCode(code)


class Snooze(Exception):
    """The work is not ready: call me again in `seconds`, 1 s to 12 h. It costs no budget.

    For what is computed elsewhere: look, snooze, look again, and hold no GPU meanwhile.
    """

    def __init__(self, seconds: float) -> None:
        if not 0 < seconds < math.inf:
            raise ValueError(f"snooze for {seconds!r}: it must be a number of seconds above 0")
        super().__init__(f"snoozed for {seconds:g} s")
        self.seconds = seconds
