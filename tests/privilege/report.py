"""Recorded calls against allowed rights, role by role: what is unused, what is missing."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from tests.privilege.calls import Call
from tests.privilege.rights import Right, rights, uses
from tests.privilege.roles import Role

_BUCKET: Final = "taskgate-local-c0-results-000000000000-us-east-1"
EXPLAINED: Final[Mapping[tuple[str, str], str]] = {
    ("worker", f"s3:AbortMultipartUpload on {_BUCKET}/r/*"): (
        "only when a part of a large result fails: tests/unit/test_buckets.py"
    ),
}
"""(room, right) that the story does not use, with the reason. A line that is used after all fails."""


@dataclass(frozen=True, slots=True)
class Held:
    """One role held against its calls."""

    room: str
    used: frozenset[str]
    unused: frozenset[str]
    missing: frozenset[str]

    @property
    def unexplained(self) -> frozenset[str]:
        return frozenset(right for right in self.unused if (self.room, right) not in EXPLAINED)

    def lines(self) -> Iterable[str]:
        """What is printed of it."""
        allowed = len(self.used) + len(self.unused)
        yield (
            f"{self.room:16} allowed {allowed:3}  used {len(self.used):3}"
            f"  unused {len(self.unused):2}  missing {len(self.missing):2}"
        )
        for right in sorted(self.unused):
            yield f"    unused  {right}: {EXPLAINED.get((self.room, right), 'not explained')}"
        for call in sorted(self.missing):
            yield f"    missing {call}"


def hold(role: Role, recorded: Iterable[Call]) -> Held:
    """Hold a role against its own calls and those that Lambda makes under it."""
    calls = {call for call in recorded if call.role == role.name} | role.by_lambda
    used: set[Right] = set()
    allowed = rights(role.statements)
    for right, statements in allowed.items():
        if any(uses(right, s, call) for s in statements for call in calls):
            used.add(right)
    missing = {c for c in calls if not any(s.allows(c) for s in role.statements)}
    return Held(
        role.room,
        frozenset(map(str, used)),
        frozenset(map(str, allowed.keys() - used)),
        frozenset(f"{c.action} on {c.resource} {','.join(c.keys)}".strip() for c in missing),
    )
