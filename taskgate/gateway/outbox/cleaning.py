"""What ended tasks leave behind, and that its removal is counted.

Pulses and uploads are not among it: they go by TTL and by the bucket's rule, see docs/decisions/0009-pulses-go-by-ttl.md
and docs/decisions/0010-uploads-have-no-record.md.
"""

from __future__ import annotations

from enum import StrEnum

from taskgate.events import event
from taskgate.task import Task


class Leftover(StrEnum):
    """A kind of what is removed; the word stands in the metric ``objects_cleaned_<kind>``."""

    REFUSED = "refused_attempts"
    """Files of attempts that did not count."""
    SALVAGE = "salvage"
    """What a run had made when it was stopped, past the time in which it is of use."""


def cleaned(task: Task, kind: Leftover, objects: int) -> None:
    """Say that so many objects were removed. Whoever removes any says it here, 0 too: it ran."""
    event("cleaned", task=task.id, kind=kind.value, objects=objects)
