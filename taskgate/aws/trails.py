"""Trails as they are stored."""

from __future__ import annotations

from collections.abc import Iterable

from taskgate.aws.values import Item, Value, int_of, listed, n, s, text_of
from taskgate.marks import Mark


def trail(marks: Iterable[Mark]) -> Value:
    return listed([{"M": {"at": n(m.at), "who": s(m.who), "what": s(m.what)}} for m in marks])


def trail_of(item: Item) -> tuple[Mark, ...]:
    """The trail of a record; one of long ago has none."""
    return tuple(_mark(v["M"]) for v in item["trail"]["L"]) if "trail" in item else ()


def _mark(value: Item) -> Mark:
    return Mark(int_of(value, "at"), text_of(value, "who"), text_of(value, "what"))
