"""text_to_image: a prompt and a seed to a PNG."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from taskgate.catalog.tasktype import TaskInput, TaskType


class TextToImageInput(TaskInput):
    """`engine: sketch` draws a deterministic picture; it is a stand-in without model weights."""

    prompt: Annotated[str, Field(min_length=1, description="What to draw; at most 64 KiB.")]
    engine: Annotated[
        Literal["sketch"],
        Field(description="`sketch` is a stand-in: a picture drawn from prompt and seed."),
    ] = "sketch"
    seed: Annotated[int, Field(ge=0, le=2**32 - 1)] = 0
    width: Annotated[int, Field(ge=64, le=1024, multiple_of=8, description="Pixels.")] = 512
    height: Annotated[int, Field(ge=64, le=1024, multiple_of=8, description="Pixels.")] = 512
    steps: Annotated[int, Field(ge=1, le=200, description="Drawing steps.")] = 20
    step_ms: Annotated[
        int, Field(ge=0, le=5000, description="Pause after each step, to imitate a slow model.")
    ] = 0


TEXT_TO_IMAGE = TaskType(
    name="text_to_image",
    title="Draw an image from a prompt (sketch engine: a stand-in without model weights)",
    input_model=TextToImageInput,
    runner="gpu_worker.runners.text_to_image:TextToImage",
    pool="gpu",
)
