"""``make least-privilege``: the calls of every deployed room, recorded, against what its role allows."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from tests.privilege.calls import read_calls
from tests.privilege.report import hold
from tests.privilege.roles import roles
from tests.privilege.scene import storied
from tests.privilege.story import Story


def main() -> int:
    """Print each role; 0 when nothing is missing, and nothing unused without a reason."""
    with tempfile.TemporaryDirectory(prefix="taskgate-") as folder:
        place = Path(folder)
        record = place / "calls.jsonl"
        with storied(place / "stack", record, say=_say) as stack:
            _say("Driving every room")
            story = Story(stack, record, place / "results")
            story.run()
            calls = read_calls(record)
            held = [hold(role, calls) for role in (*roles(stack), story.worker)]
    for role in sorted(held, key=lambda one: one.room):
        print("\n".join(role.lines()))
    return int(any(role.missing or role.unexplained for role in held))


def _say(text: str) -> None:
    print(text, file=sys.stderr)


if __name__ == "__main__":
    raise SystemExit(main())
