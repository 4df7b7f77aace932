"""What every `Receivers` port must do. Subclass it and give it `receivers`; one key a test."""

from __future__ import annotations

import itertools
from dataclasses import replace

import pytest

from taskgate.receivers import Breaker, Health, Receivers, Unwell

ILL = Health(failures=6, opened_at=1_790_000_000_000, next_probe_at=1_790_000_030_000)
AT = 1_790_000_000_000
_NUMBERS = itertools.count(1)


def listed(receivers: Receivers, limit: int, tenant: str | None = None) -> list[Unwell]:
    """All pages."""
    found: list[Unwell] = []
    page = receivers.unwell(limit, None, tenant)
    while True:
        assert len(page.rows) <= limit
        found += page.rows
        if page.next is None:
            return found
        page = receivers.unwell(limit, page.next, tenant)


class ReceiversConformance:
    """Promises of `Receivers`."""

    @pytest.fixture
    def receivers(self) -> Receivers:
        raise NotImplementedError

    @pytest.fixture
    def receiver(self) -> str:
        return f"acme|hooks{next(_NUMBERS)}.example:443"

    def test_an_unknown_receiver_is_well(self, receivers: Receivers, receiver: str) -> None:
        assert receivers.get(receiver) == Health()

    def test_what_was_recorded_reads_back(self, receivers: Receivers, receiver: str) -> None:
        assert receivers.swap(receiver, Health(), ILL) == replace(ILL, version=1)
        assert receivers.get(receiver) == replace(ILL, version=1)

    def test_of_two_who_saw_the_same_one_writes(self, receivers: Receivers, receiver: str) -> None:
        receivers.swap(receiver, Health(), ILL)
        seen = receivers.get(receiver)
        assert receivers.swap(receiver, seen, replace(seen, next_probe_at=AT + 1))
        assert receivers.swap(receiver, seen, replace(seen, next_probe_at=AT + 2)) is None
        assert receivers.get(receiver).next_probe_at == AT + 1

    def test_a_first_record_is_written_once(self, receivers: Receivers, receiver: str) -> None:
        assert receivers.swap(receiver, Health(), Health(failures=1))
        assert not receivers.swap(receiver, Health(), Health(failures=1))

    def test_closed_again_it_is_well(self, receivers: Receivers, receiver: str) -> None:
        receivers.swap(receiver, Health(), ILL)
        seen = receivers.get(receiver)
        receivers.swap(receiver, seen, Health(version=seen.version))
        closed = receivers.get(receiver)
        assert (closed.failures, closed.is_open, closed.version) == (0, False, 2)

    def test_slots_of_a_line_are_an_interval_apart(
        self, receivers: Receivers, receiver: str
    ) -> None:
        slots = [receivers.line_up(receiver, AT, 100) for _ in range(5)]
        assert slots == [AT, AT + 100, AT + 200, AT + 300, AT + 400]

    def test_no_slot_is_before_the_time_asked_for(
        self, receivers: Receivers, receiver: str
    ) -> None:
        receivers.line_up(receiver, AT, 100)
        assert receivers.line_up(receiver, AT + 5000, 100) == AT + 5000
        assert receivers.line_up(receiver, AT, 100) == AT + 5100

    def test_the_line_and_the_health_do_not_disturb_each_other(
        self, receivers: Receivers, receiver: str
    ) -> None:
        receivers.line_up(receiver, AT, 100)
        assert receivers.get(receiver) == Health()
        assert receivers.get(receiver).line_at == AT + 100
        assert receivers.swap(receiver, Health(), ILL)
        assert receivers.line_up(receiver, AT, 100) == AT + 100
        assert receivers.get(receiver) == replace(ILL, version=1)
        assert receivers.get(receiver).line_at == AT + 200

    def test_the_unwell_are_listed_with_their_health_and_nobody_else(
        self, receivers: Receivers, receiver: str
    ) -> None:
        open_, failing, well, in_line = (f"{receiver}{n}" for n in range(4))
        receivers.swap(open_, Health(), ILL)
        receivers.swap(failing, Health(), Health(failures=2))
        recorded = receivers.swap(well, Health(), Health(failures=1))
        assert recorded
        receivers.swap(well, recorded, Health(version=recorded.version))
        receivers.line_up(in_line, AT, 100)
        found = {r.receiver: r for r in listed(receivers, 100)}
        assert found[open_].health == replace(ILL, version=1)
        assert found[failing].health.breaker is Breaker.FAILING
        assert not {well, in_line} & set(found)
        assert (found[open_].tenant, found[open_].address) == ("acme", open_.removeprefix("acme|"))

    def test_the_list_of_the_unwell_pages_to_its_end_without_a_gap_or_a_repeat(
        self, receivers: Receivers, receiver: str
    ) -> None:
        mine = {f"{receiver}{n}" for n in range(7)}
        for one in mine:
            receivers.swap(one, Health(), ILL)
        for limit in (1, 3, 100):
            found = [r.receiver for r in listed(receivers, limit) if r.receiver in mine]
            assert sorted(found) == sorted(mine)

    def test_a_tenant_is_listed_its_own_receivers(
        self, receivers: Receivers, receiver: str
    ) -> None:
        other = receiver.replace("acme|", "acme2|")
        for one in (receiver, other):
            receivers.swap(one, Health(), ILL)
        found = {r.receiver for r in listed(receivers, 2, "acme")}
        assert receiver in found
        assert {name.partition("|")[0] for name in found} == {"acme"}

    def test_receivers_are_apart(self, receivers: Receivers, receiver: str) -> None:
        receivers.swap(receiver, Health(), ILL)
        receivers.line_up(receiver, AT, 100)
        other = receiver + "0"
        assert receivers.get(other) == Health()
        assert receivers.line_up(other, AT, 100) == AT
