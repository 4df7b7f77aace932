"""finish_image: enlarge and sign a picture that another task made. Made to follow text_to_image."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from taskgate.catalog.tasktype import FileRef, TaskInput, TaskType


class FinishImageInput(TaskInput):
    """A picture from a result of yours, and what to do to it."""

    image: Annotated[FileRef, Field(description='In a follow-up: `{"$result": "image.png"}`.')]
    factor: Annotated[int, Field(ge=1, le=4, description="How many times wider and higher.")] = 2
    watermark: Annotated[
        str | None, Field(max_length=80, description="Written into the lower right corner.")
    ] = None


FINISH_IMAGE = TaskType(
    name="finish_image",
    title="Enlarge and sign a picture that another task made",
    input_model=FinishImageInput,
    runner="gpu_worker.runners.finish_image:FinishImage",
    pool="cpu",
    run_timeout=5 * 60,
    reuse_results=24 * 3600,
)
