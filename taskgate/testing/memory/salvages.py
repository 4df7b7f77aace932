"""Kept results in memory: found while they last, and given away."""

from __future__ import annotations

from dataclasses import dataclass, field

from taskgate.errors import Refused
from taskgate.ports import Submission
from taskgate.salvage import Salvage
from taskgate.task import Owner


@dataclass
class MemorySalvages:
    """By owner and fingerprint. The store's lock guards it."""

    kept: dict[tuple[Owner, str], Salvage] = field(default_factory=dict)

    def keep(self, salvage: Salvage) -> None:
        self.kept[salvage.owner, salvage.fingerprint] = salvage

    def found(self, submission: Submission, now: int) -> Salvage | None:
        """What the submission would reuse; `now` in epoch seconds."""
        if submission.reuse is None:
            return None
        return self._living(submission.task.owner, submission.reuse.fingerprint, now)

    def take(self, submission: Submission, now: int) -> None:
        """Give away what the submission takes; `Refused` when it is not there any more."""
        takes = submission.takes
        if takes is None:
            return
        there = self._living(takes.owner, takes.fingerprint, now)
        if there is None or there.source != takes.source:
            raise Refused(None, "The kept result is gone.")
        if takes.once:
            del self.kept[takes.owner, takes.fingerprint]

    def _living(self, owner: Owner, mark: str, now: int) -> Salvage | None:
        salvage = self.kept.get((owner, mark))
        return salvage if salvage and salvage.expires_at > now else None
