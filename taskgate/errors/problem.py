"""What a caller is told: the root of all that has an HTTP status."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from taskgate.errors.base import TaskgateError


@dataclass(frozen=True, slots=True)
class FieldProblem:
    """One field that is wrong: where it stands, what is wrong, and the bound if there is one."""

    field: str
    message: str


class Problem(TaskgateError):
    """The request cannot be served."""

    code: ClassVar[str] = "problem"
    status: ClassVar[int] = 400
    retry_after: int | None = None
    """Seconds after which the same request may well be served; None when it will not be."""
    field: ClassVar[str | None] = None
    """The one field that this problem is always about."""

    def __init__(self, message: str | None = None, *, fields: Sequence[FieldProblem] = ()) -> None:
        super().__init__(message)
        own = (FieldProblem(self.field, str(self)),) if self.field else ()
        self.fields = tuple(fields) or own
