"""A reason as this room's bodies take it: it must fit where it is kept, in bytes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Final

from pydantic import AfterValidator, Field

from taskgate.switches import MAX_REASON as MAX_OF_SWITCH

MAX_OF_BULK: Final = 160
"""With the bulk act's id before it, it must fit into an entry of a task's history."""


def _within(most: int) -> Callable[[str], str]:
    def check(reason: str) -> str:
        if len(reason.encode()) > most:
            raise ValueError(f"at most {most} bytes of UTF-8")
        return reason

    return check


BulkReason = Annotated[
    str, AfterValidator(_within(MAX_OF_BULK)), Field(min_length=1, max_length=MAX_OF_BULK)
]
SwitchReason = Annotated[
    str, AfterValidator(_within(MAX_OF_SWITCH)), Field(max_length=MAX_OF_SWITCH)
]
