"""What a task type is: its input, its runner, its pool, and the limits it lives by."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Annotated, Final

from pydantic import BaseModel, ConfigDict, Field

from taskgate.errors import BadSetting
from taskgate.lifecycle.retry import RetryPolicy
from taskgate.slots import MOST_SLOTS

LONGEST_REUSE: Final = 7 * 86_400
"""Well within the time that results are kept."""


class TaskInput(BaseModel):
    """Base of every input model: strict, so that "1" is not 1, and no unknown fields."""

    model_config = ConfigDict(strict=True, extra="forbid", frozen=True, allow_inf_nan=False)


class FileRef(TaskInput):
    """A file of the result of another task of the same user."""

    task: Annotated[str, Field(pattern=r"^task_[0-9A-HJKMNP-TV-Z]{26}$")]
    file: Annotated[str, Field(min_length=1, max_length=128)]


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskType:
    """One kind of work. Times are seconds."""

    name: str
    title: str
    input_model: type[TaskInput]
    runner: str
    """``module:Class`` inside ``gpu_worker``; only the worker's child imports it."""
    pool: str
    queue_timeout: int = 30 * 60
    run_timeout: int = 30 * 60
    max_run: int = 6 * 3600
    """No extension takes a run beyond this."""
    deadline: int = 24 * 3600
    """The whole life, from submit to end."""
    startup_timeout: int = 5 * 60
    """How long the runner's `setup` may take."""
    max_processing: int | None = None
    """So many run at the same time in the whole system: what its model's provider can take."""
    redeliver_after: int = 180
    max_redeliveries: int = 2
    retry: RetryPolicy = field(default_factory=RetryPolicy)
    version: int = 1
    """To be raised when the same input brings another result: results of before are not reused."""
    reuse_results: int | None = None
    """For so many seconds a result serves its owner's identical submits. Only for a type whose
    result depends on its input alone."""

    def __post_init__(self) -> None:
        if self.max_processing is not None and not 1 <= self.max_processing <= MOST_SLOTS:
            raise BadSetting(
                f"{self.name}.max_processing", self.max_processing, f"1 to {MOST_SLOTS}, or None"
            )
        if self.reuse_results is not None and not 1 <= self.reuse_results <= LONGEST_REUSE:
            raise BadSetting(
                f"{self.name}.reuse_results", self.reuse_results, f"1 to {LONGEST_REUSE} s, or None"
            )
        if self.max_run > 11 * 3600:
            # A message stays hidden at most 12 h from its first receive, whatever the beats say.
            raise BadSetting(f"{self.name}.max_run", self.max_run, "at most 39600 s")
        if not self.run_timeout <= self.max_run <= self.deadline:
            raise BadSetting(
                f"{self.name}.max_run", self.max_run, "between run_timeout and deadline"
            )

    def lane(self, priority: str) -> str:
        """The lane of a priority: ``<pool>-<priority>``."""
        return f"{self.pool}-{priority}"
