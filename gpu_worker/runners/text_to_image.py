"""text_to_image, engine `sketch`: a landscape drawn from prompt and seed, without model weights."""

from __future__ import annotations

from typing import Any, Final

from PIL.PngImagePlugin import PngInfo

from gpu_worker.runner import Context, Runner
from gpu_worker.runners.sketch import Sketch

NOTE: Final = "A sketch drawn from prompt and seed: a stand-in, no model weights were used."


class TextToImage(Runner):
    """Leaves `image.png`: the same bytes for the same input."""

    def run(
        self,
        ctx: Context,
        *,
        prompt: str,
        engine: str,
        seed: int,
        width: int,
        height: int,
        steps: int,
        step_ms: int,
    ) -> dict[str, Any]:
        ctx.stage("drawing")
        sketch = Sketch(prompt, seed, (width, height), steps)
        for step in range(steps):
            sketch.draw(step)
            ctx.progress((step + 1) / (steps + 1), f"step {step + 1}/{steps}")
            ctx.wait(step_ms / 1000)
        ctx.stage("saving")
        path = ctx.file("image.png", "image/png")
        sketch.picture().save(path, "PNG", pnginfo=_about(engine, seed, steps))
        ctx.progress(1.0)
        return {"engine": engine, "width": width, "height": height, "seed": seed, "note": NOTE}


def _about(engine: str, seed: int, steps: int) -> PngInfo:
    about = PngInfo()
    about.add_text("Description", NOTE)
    about.add_text("Software", f"taskgate {engine}")
    about.add_text("Parameters", f"seed={seed} steps={steps}")
    return about
