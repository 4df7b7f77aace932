"""Query parameters whose values are words of a fixed set."""

from __future__ import annotations

from enum import StrEnum
from typing import Final, TypeVar

from taskgate.errors import FieldProblem, InvalidRequest
from taskgate.lifecycle.states import State
from taskgate.nearest import must_be_one_of

Word = TypeVar("Word", bound=StrEnum)

_SPELT: Final = {"cancelled": "canceled", "cancelling": "canceling"}


def states(text: str) -> frozenset[State]:
    """One state or several, with commas between; both spellings of canceled are known."""
    words = [word.strip() for word in text.split(",") if word.strip()]
    return frozenset(one_of("state", _SPELT.get(word, word), State) for word in words)


def one_of(name: str, text: str, known: type[Word]) -> Word:
    """A parameter that is one of the words; the answer to any other names the one that was meant."""
    try:
        return known(text)
    except ValueError:
        raise InvalidRequest(fields=[FieldProblem(name, must_be_one_of(known, text))]) from None
