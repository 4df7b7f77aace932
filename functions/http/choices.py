"""Query parameters whose values are words of a fixed set."""

from __future__ import annotations

from enum import StrEnum
from typing import Final, TypeVar

from taskgate.errors import FieldProblem, InvalidRequest
from taskgate.lifecycle.states import State
from taskgate.nearest import did_you_mean, in_words

Word = TypeVar("Word", bound=StrEnum)

_SPELT: Final = {"cancelled": "canceled", "cancelling": "canceling"}


def states(text: str) -> frozenset[State]:
    """One state or several, with commas between; both spellings of canceled are known."""
    words = [word.strip() for word in text.split(",") if word.strip()]
    return frozenset(_of("state", _SPELT.get(word, word), State, "must be of") for word in words)


def one_of(name: str, text: str, known: type[Word]) -> Word:
    """A parameter that is one of the words; the answer to any other names the one that was meant."""
    return _of(name, text, known, "must be one of")


def _of(name: str, text: str, known: type[Word], must: str) -> Word:
    try:
        return known(text)
    except ValueError:
        told = f"{must} {in_words(known)}{did_you_mean(text, known)}"
        raise InvalidRequest(fields=[FieldProblem(name, told)]) from None
