"""Who may see which receivers are ill, and how many are looked for at a time."""

from __future__ import annotations

import pytest

from taskgate.errors import MissingScope
from taskgate.gateway.outbox import receiving
from taskgate.gateway.outbox.receiving import unwell_receivers
from taskgate.ports import Page
from taskgate.principal import SCOPES, USER_SCOPES, Principal
from taskgate.receivers import Health, Unwell
from taskgate.task import Owner
from taskgate.testing.memory import MemoryWorld
from taskgate.testing.memory.receivers import MemoryReceivers

OPERATOR = Principal(Owner("taskgate", "olga"), SCOPES, 50, "k9")
ADMIN = Principal(Owner("acme", "ada"), USER_SCOPES | {"admin"}, 50, "k1")
USER = Principal(Owner("acme", "ada"), USER_SCOPES, 50, "k2")


def world(*receivers: str) -> MemoryWorld:
    made = MemoryWorld()
    for receiver in receivers:
        made.receivers.swap(receiver, Health(), Health(failures=7, opened_at=1, next_probe_at=2))
    return made


def names(page: Page[Unwell]) -> list[str]:
    return [row.receiver for row in page.rows]


def test_an_operator_sees_those_of_every_tenant_an_admin_its_own_and_a_user_none() -> None:
    ports = world("acme|a.example:443", "evil|b.example:443").ports
    assert names(unwell_receivers(ports, OPERATOR)) == ["acme|a.example:443", "evil|b.example:443"]
    assert names(unwell_receivers(ports, ADMIN)) == ["acme|a.example:443"]
    with pytest.raises(MissingScope):
        unwell_receivers(ports, USER)


def test_a_page_is_filled_over_empty_steps_and_says_where_the_next_one_starts() -> None:
    ports = world(*(f"acme|h{n}.example:443" for n in range(5))).ports
    first = unwell_receivers(ports, OPERATOR, limit=3)
    rest = unwell_receivers(ports, OPERATOR, limit=3, start=first.next)
    assert (len(first.rows), len(rest.rows), rest.next) == (3, 2, None)


def test_a_table_in_which_nobody_is_ill_is_not_read_for_ever(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    made, steps = world(), list[str | None]()

    def empty(
        self: MemoryReceivers, limit: int, start: str | None = None, tenant: str | None = None
    ) -> Page[Unwell]:
        steps.append(start)
        return Page([], f"PULSE#{len(steps)}")

    monkeypatch.setattr(MemoryReceivers, "unwell", empty)
    page = unwell_receivers(made.ports, OPERATOR)
    assert (names(page), page.next) == ([], f"PULSE#{receiving.MOST_STEPS}")
    assert len(steps) == receiving.MOST_STEPS
