"""What a soak did and saw, and whether it was good."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field


@dataclass
class Figures:
    """Counted by the load, the chaos and the count in turn."""

    submitted: int = 0
    children: int = 0
    refused: int = 0
    asked: Counter[str] = field(default_factory=Counter)
    """What the users did beside submitting."""
    done: Counter[str] = field(default_factory=Counter)
    """What was done to the stack."""
    in_bulk: Counter[str] = field(default_factory=Counter)
    """Tasks that operators' bulk acts were for."""
    states: Counter[str] = field(default_factory=Counter)
    verbs: Counter[str] = field(default_factory=Counter)
    late: int = 0
    given: Counter[str] = field(default_factory=Counter)
    """How often a kept result was given, by the task that left it."""
    owed: int = 0
    requests: int = 0
    lost: list[str] = field(default_factory=list)
    doubled: list[str] = field(default_factory=list)
    untold: list[str] = field(default_factory=list)
    mistold: list[str] = field(default_factory=list)
    """Events that came with other bytes, or badly signed."""
    unaccounted: int = 0
    differences: int = 0

    @property
    def good(self) -> bool:
        wrong = self.lost or self.doubled or self.untold or self.mistold
        return self.submitted > 0 and not (wrong or self.unaccounted or self.differences)

    def lines(self) -> Iterator[str]:
        """The figures as they are shown."""
        yield f"tasks submitted      {self.submitted} (answers that failed: {self.refused})"
        yield f"follow-ups           {self.children}"
        yield f"users                {dict(self.asked)}"
        yield f"chaos                {dict(self.done)}"
        yield f"in bulk              {dict(self.in_bulk)}"
        yield f"ended by state       {dict(self.states)}"
        for verb, said in SHOWN.items():
            yield f"{said:<20} {self.verbs[verb]}"
        yield f"late ends refused    {self.late}"
        yield f"results given        {sum(self.given.values())}"
        yield f"callbacks            {self.owed} owed, {self.requests} requests"
        for name in ("lost", "doubled", "untold", "mistold"):
            found: list[str] = getattr(self, name)
            yield f"{WRONG[name]:<20} {len(found)} {found[:3]}"
        yield f"unaccounted          {self.unaccounted}"
        yield f"reconcile            {self.differences} differences"


SHOWN = {
    "retrying": "retries",
    "take_over": "taken over",
    "rescue": "rescued by the clock",
    "pause": "handed back",
    "prioritize": "moved while waiting",
    "reopen": "reopened",
    "redeliver": "told again",
}
WRONG = {
    "lost": "lost",
    "doubled": "doubly effective",
    "untold": "callbacks untold",
    "mistold": "callbacks mistold",
}
