"""Writes the parts of the pages that the code knows better: ``python docs/generate.py``.

Each part stands between ``<!-- generated: name -->`` and ``<!-- end -->``; a test holds the pages to
what this would write.
"""

# ruff: noqa: INP001 - a script beside the pages, not a package
from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

from taskgate.cli import exits
from taskgate.cost import capacity
from taskgate.cost.flows import measured
from taskgate.cost.wish import Wish
from taskgate.lifecycle.retry import ErrorCode
from taskgate.lifecycle.states import ENDED, HELD, LIVE, RULES, STAYING, State, Verb
from taskgate.settings import STAGES, Timing

ROOT: Final = Path(__file__).parent.parent
PAGES: Final = (
    "README.md",
    "docs/quickstart.md",
    "docs/guarantees.md",
    "docs/explanation/lifecycle.md",
    "docs/explanation/capacity.md",
)
WAYS_OUT: Final = frozenset(
    {Verb.CANCEL, Verb.STOPPED, Verb.EXPIRE, Verb.BURY, Verb.REOPEN, Verb.REDELIVER}
)
"""Drawn apart: in one picture their arrows would hide the way that most tasks go."""
_BLOCK: Final = re.compile(r"<!-- generated: (\w+) -->\n.*?<!-- end -->", re.DOTALL)


def written(page: str) -> str:
    """The page with its generated parts made anew."""
    return _BLOCK.sub(_block, page)


def arrows(verbs: Iterable[Verb]) -> Iterator[tuple[State | None, State, Verb]]:
    """From, to, by: every arrow of these verbs; None is before the first state."""
    for verb in verbs:
        rule = RULES[verb]
        sources: Sequence[State | None] = _ordered(rule.sources) or [None]
        for source in sources:
            for target in _ordered(rule.targets):
                if _leads(verb, source, target):
                    yield source, target, verb


def _leads(verb: Verb, source: State | None, target: State) -> bool:
    """Whether the verb takes this source to this target, and not only to another one of its row."""
    if verb in STAYING:
        return source is target
    return verb is not Verb.CANCEL or (target is State.CANCELING) == (source in HELD)


def _block(found: re.Match[str]) -> str:
    lines = "\n".join(_PARTS[found[1]]())
    return f"<!-- generated: {found[1]} -->\n{lines}\n<!-- end -->"


def _main_way() -> Iterator[str]:
    yield from _diagram(verb for verb in Verb if verb not in WAYS_OUT)


def _ways_out() -> Iterator[str]:
    yield from _diagram(verb for verb in Verb if verb in WAYS_OUT)


def _diagram(verbs: Iterable[Verb]) -> Iterator[str]:
    """One arrow a pair of states, with all the verbs that lead along it."""
    labels: dict[tuple[State | None, State], list[str]] = defaultdict(list)
    for source, target, verb in arrows(verbs):
        labels[source, target].append(_words(verb))
    yield "```mermaid"
    yield "stateDiagram-v2"
    for (source, target), said in labels.items():
        yield f"    {source or '[*]'} --> {target}: {', '.join(said)}"
    for target in _ordered({target for _, target in labels} & ENDED):
        yield f"    {target} --> [*]"
    yield "```"


def _verbs() -> Iterator[str]:
    yield "| verb | from | to | who | the write demands |"
    yield "|---|---|---|---|---|"
    for verb, rule in RULES.items():
        cells = (_words(verb), _names(rule.sources) or "–", _names(rule.targets))
        yield f"| {' | '.join((*cells, rule.who, rule.demands))} |"


def _states() -> Iterator[str]:
    yield f"Live: {_names(LIVE)}."
    yield f"Ended: {_names(ENDED)}."


def _error_codes() -> Iterator[str]:
    yield ", ".join(f"`{code}`" for code in ErrorCode) + "."


def _detection() -> Iterator[str]:
    yield "| | on AWS | local stack |"
    yield "|---|---|---|"
    for what, of in _DETECTION:
        yield f"| {what} | {of(Timing())} s | {of(STAGES['local'].timing)} s |"


def _exit_codes() -> Iterator[str]:
    """From the docstring's table, which is where a reader of the code finds them."""
    yield "| code | meaning |"
    yield "|---|---|"
    for code, meaning in re.findall(r"^(\d+)\s+(\S.*)$", exits.__doc__ or "", re.MULTILINE):
        yield f"| {code} | {meaning} |"


def _capacity() -> Iterator[str]:
    loads = " | ".join(f"{load:,}" for load in capacity.LOADS)
    yield f"| submits a second | {loads} | by default |"
    yield f"|---|{'---|' * len(capacity.LOADS)}---|"
    for row in capacity.rows(measured(), Wish()):
        yield f"| {' | '.join(row)} |"


def _ordered(states: Iterable[State]) -> list[State]:
    return [state for state in State if state in set(states)]


def _names(states: Iterable[State]) -> str:
    return ", ".join(f"`{state}`" for state in _ordered(states))


def _words(verb: Verb) -> str:
    return verb.replace("_", " ")


_DETECTION: Final[tuple[tuple[str, Callable[[Timing], int]], ...]] = (
    ("a worker beats every", lambda t: t.beat),
    ("a worker that is silent for longer counts as lost", lambda t: t.lease),
    ("**a free worker takes over a dead one's task within**", lambda t: t.restart_within),
    (
        "**the clock notices a dead worker, even if its message is gone, within**",
        lambda t: t.detected_within,
    ),
    ("a suspected task waits for its worker for", lambda t: t.stall_grace),
    ("a task whose message was lost on submit is sent again after", lambda t: t.send_check),
    ("a cancel that no worker acknowledges is enforced after", lambda t: t.cancel_grace),
)
_PARTS: Final[Mapping[str, Callable[[], Iterator[str]]]] = {
    "main_way": _main_way,
    "ways_out": _ways_out,
    "verbs": _verbs,
    "states": _states,
    "error_codes": _error_codes,
    "detection": _detection,
    "exit_codes": _exit_codes,
    "capacity": _capacity,
}

if __name__ == "__main__":
    for name in PAGES:
        path = ROOT / name
        path.write_text(written(path.read_text("utf-8")), "utf-8")
