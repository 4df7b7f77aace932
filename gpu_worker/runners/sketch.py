"""The picture itself: sky, a sun or moon, ridges from far to near, and wind drawn in between."""

from __future__ import annotations

import colorsys
import hashlib
import math
import random
from typing import Final

from PIL import Image, ImageDraw

Colour = tuple[int, int, int]
SHARP: Final = 2
"""Drawn at twice the size and reduced at the end, which smooths every edge."""
MAX_RIDGES: Final = 7
WIND_LINES: Final = 30
"""Above these the wind gets fainter, so that many steps do not cover the sky."""


class Sketch:
    """Drawn step by step. Uses `random.random` only, whose sequence Python promises to keep."""

    def __init__(self, prompt: str, seed: int, size: tuple[int, int], steps: int) -> None:
        self._size = size
        self._width, self._height = size[0] * SHARP, size[1] * SHARP
        digest = hashlib.sha256(f"{seed}\x00{prompt}".encode()).digest()
        self._chance = random.Random(int.from_bytes(digest))  # noqa: S311  a picture, no secret
        self._hue = self._chance.random()
        self._night = self._chance.random() < 0.3
        self._horizon = self._between(0.42, 0.6)
        self._steps, self._ridges = steps, min(MAX_RIDGES, steps)
        self._drawn = 0
        self._image = self._sky()
        self._pen = ImageDraw.Draw(self._image, "RGBA")
        self._light()

    def draw(self, step: int) -> None:
        """One step: some wind, and a nearer ridge when its turn has come."""
        self._wind()
        while self._drawn * self._steps < (step + 1) * self._ridges:
            self._ridge(self._drawn / max(1, self._ridges - 1))
            self._drawn += 1

    def picture(self) -> Image.Image:
        """What is drawn so far, at the size that was asked for."""
        return self._image.resize(self._size, Image.Resampling.LANCZOS)

    def _sky(self) -> Image.Image:
        top, bottom = self._tint(0.0, 0.55, 0.35), self._tint(0.12, 0.4, 1.0)
        if self._night:
            top, bottom = self._tint(0.0, 0.7, 0.1), self._tint(0.08, 0.6, 0.45)
        column = Image.new("RGB", (1, self._height))
        for y in range(self._height):
            column.putpixel((0, y), _mix(top, bottom, min(1.0, y / (self._height * 0.75))))
        return column.resize((self._width, self._height))

    def _light(self) -> None:
        """A disc with a glow around it."""
        x, y = self._width * self._between(0.2, 0.8), self._height * self._between(0.15, 0.36)
        radius = min(self._width, self._height) * self._between(0.05, 0.1)
        colour = self._tint(0.1, 0.08 if self._night else 0.3, 1.0)
        for ring in range(24, 0, -1):
            self._disc(x, y, radius * (1 + ring / 8), (*colour, 7))
        self._disc(x, y, radius, (*colour, 235))
        if self._night:
            self._stars()

    def _stars(self) -> None:
        for _ in range(90):
            x, y = self._chance.random() * self._width, self._chance.random() * self._height * 0.5
            bright = int(self._between(60, 230))
            self._disc(x, y, self._between(0.4, 1.3) * SHARP, (255, 250, 235, bright))

    def _wind(self) -> None:
        """A thin bow across the sky, hardly there."""
        y, bow = self._height * self._between(0.04, self._horizon), self._between(-0.03, 0.03)
        start, length = self._between(-0.2, 0.8), self._between(0.15, 0.5)
        points = [
            ((start + length * t) * self._width, y + bow * self._height * math.sin(math.pi * t))
            for t in (i / 40 for i in range(41))
        ]
        faint = min(1.0, WIND_LINES / self._steps)
        light = (*self._tint(0.1, 0.15, 1.0), int(self._between(14, 40) * faint))
        self._pen.line(points, light, width=max(1, round(self._between(0.6, 2.2) * SHARP)))

    def _ridge(self, nearness: float) -> None:
        """A mountain line: three waves and some roughness; nearer is lower, darker and fuller."""
        base = self._height * (self._horizon + (0.95 - self._horizon) * nearness)
        rise = self._height * self._between(0.05, 0.13) * (1.15 - 0.5 * nearness)
        waves = [(self._between(0.6, 5.0), self._between(0, math.tau)) for _ in range(3)]
        step = 2 * SHARP
        line = [(x, base - rise * self._wave(x, waves)) for x in range(0, self._width + step, step)]
        outline = [(0, self._height), *line, (self._width, self._height)]
        self._pen.polygon(outline, (*self._ridge_colour(nearness), 242))
        self._pen.line(line, (255, 255, 255, 26), width=SHARP)

    def _wave(self, x: float, waves: list[tuple[float, float]]) -> float:
        turn = math.tau * x / self._width
        smooth = sum(math.sin(turn * f + p) / (n + 1) for n, (f, p) in enumerate(waves))
        return smooth + self._between(-0.05, 0.05)

    def _ridge_colour(self, nearness: float) -> Colour:
        far, near = self._tint(0.1, 0.35, 0.8), self._tint(0.55, 0.6, 0.14)
        if self._night:
            far, near = self._tint(0.06, 0.5, 0.36), self._tint(0.0, 0.7, 0.04)
        return _mix(far, near, nearness)

    def _disc(self, x: float, y: float, r: float, colour: tuple[int, int, int, int]) -> None:
        self._pen.ellipse((x - r, y - r, x + r, y + r), fill=colour)

    def _tint(self, turn: float, saturation: float, value: float) -> Colour:
        red, green, blue = colorsys.hsv_to_rgb((self._hue + turn) % 1.0, saturation, value)
        return round(red * 255), round(green * 255), round(blue * 255)

    def _between(self, low: float, high: float) -> float:
        return low + (high - low) * self._chance.random()


def _mix(one: Colour, other: Colour, share: float) -> Colour:
    red, green, blue = (round(a + (b - a) * share) for a, b in zip(one, other, strict=True))
    return red, green, blue
