"""Who did what to a key or a plan, as it is told."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from functions.http.times import when
from taskgate.marks import Mark


def trail(marks: Iterable[Mark]) -> list[dict[str, Any]]:
    return [{"at": when(mark.at), "actor": mark.who, "what": mark.what} for mark in marks]
