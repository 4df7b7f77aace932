"""What is printed for people reads as the documents say it."""

from __future__ import annotations

import pytest

from taskgate.cli.printing import size_of
from taskgate.plans import FREE, PAID


@pytest.mark.parametrize(
    ("count", "said"),
    [
        (0, "0 B"),
        (1023, "1023 B"),
        (1024, "1 KiB"),
        (1536, "1.5 KiB"),
        (1024**2 - 1, "1 MiB"),
        (5 * 1024**3, "5 GiB"),
        (5000 * 1024**3, "5000 GiB"),
    ],
)
def test_sizes_are_told_in_the_units_in_which_the_limits_are_said(count: int, said: str) -> None:
    assert size_of(count) == said


def test_the_bounds_of_uploads_read_as_in_the_guide_to_plans() -> None:
    bounds = [plan.max_upload_bytes or 0 for plan in (FREE, PAID)]
    assert list(map(size_of, bounds)) == ["20 MiB", "1 GiB"]
