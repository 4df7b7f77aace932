"""The drawn tree is the tree: a reader finds every error, where it hangs, in one picture."""

from __future__ import annotations

import re

from taskgate import errors
from taskgate.errors import TaskgateError

_LINE = re.compile(r"^    (?P<bars>[│├└─ ]*)(?P<names>\w+(?:, \w+)*)")
_STEP = 4


def test_the_picture_draws_every_error_below_its_own_base() -> None:
    assert _drawn() == {
        (kind.__name__, kind.__base__.__name__ if kind.__base__ else "")
        for kind in _below(TaskgateError)
        if kind.__module__.startswith("taskgate.errors")
    }


def _drawn() -> set[tuple[str, str]]:
    picture = (errors.__doc__ or "").split("::", 1)[1]
    path: list[str] = []
    found = set()
    for line in filter(None, map(_LINE.match, picture.splitlines())):
        del path[len(line["bars"]) // _STEP :]
        names = line["names"].split(", ")
        found |= {(name, path[-1]) for name in names if path}
        path.append(names[-1])
    return found


def _below(kind: type[TaskgateError]) -> set[type[TaskgateError]]:
    children = kind.__subclasses__()
    return set(children).union(*map(_below, children))
