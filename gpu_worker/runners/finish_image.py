"""finish_image: a picture of another task, enlarged and signed."""

from __future__ import annotations

from typing import Any, Final

from PIL import Image, ImageDraw, UnidentifiedImageError

from gpu_worker.runner import Context, Permanent, Runner
from taskgate.lifecycle.retry import ErrorCode

MOST_PIXELS: Final = 64_000_000
"""Of the picture that comes out: about 256 MB while it is drawn."""


class FinishImage(Runner):
    """Leaves `image.png`."""

    def run(
        self, ctx: Context, *, image: dict[str, str], factor: int, watermark: str | None
    ) -> dict[str, Any]:
        ctx.stage("reading")
        picture = _opened(ctx, image)
        ctx.stage("enlarging")
        width, height = picture.width * factor, picture.height * factor
        if width * height > MOST_PIXELS:
            raise Permanent(f"{width}x{height} is over the limit", code=ErrorCode.INVALID_INPUT)
        picture = picture.resize((width, height), Image.Resampling.LANCZOS)
        ctx.progress(0.7)
        if watermark:
            _sign(picture, watermark)
        picture.save(ctx.file("image.png", "image/png"), "PNG")
        ctx.progress(1.0)
        return {"width": width, "height": height, "from": image["task"]}


def _opened(ctx: Context, image: dict[str, str]) -> Image.Image:
    try:
        with Image.open(ctx.given(image)) as picture:
            return picture.convert("RGB")
    except (UnidentifiedImageError, Image.DecompressionBombError) as error:
        raise Permanent(
            f"{image['file']} is not a picture that can be read", code=ErrorCode.INVALID_INPUT
        ) from error


def _sign(picture: Image.Image, text: str) -> None:
    draw = ImageDraw.Draw(picture, "RGBA")
    left, top, right, bottom = draw.textbbox((0, 0), text)
    place = (picture.width - (right - left) - 8, picture.height - (bottom - top) - 8)
    draw.text(place, text, fill=(255, 255, 255, 200), stroke_width=1, stroke_fill=(0, 0, 0, 160))
