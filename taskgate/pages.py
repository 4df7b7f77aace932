"""Part of a list, and where to go on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Page(Generic[T]):
    """Some rows, and where the next page starts; None on the last."""

    rows: Sequence[T]
    next: str | None = None
