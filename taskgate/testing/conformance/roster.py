"""What every roster must do: in memory, on moto and on the emulator."""

from __future__ import annotations

from dataclasses import replace

import pytest

from taskgate.roster import KEPT_SECONDS, Roster, Sign, WorkerState
from taskgate.testing.clock import VirtualClock

SIGN = Sign(
    worker="host-1-ab",
    pool="gpu",
    version="0.1.0",
    state=WorkerState.BUSY,
    started_at=1_790_000_000_000,
    beat_at=1_790_000_060_000,
    task_id="task_01ARZ3NDEKTSV4RRFFQ69G5FAV",
    task_type="text_to_image",
    attempt=2,
    gpu="NVIDIA A10G",
    gpu_memory_mib=23_028,
)
IDLE = Sign(
    worker="host-2-cd",
    pool="cpu",
    version="0.1.0",
    state=WorkerState.IDLE,
    started_at=1,
    beat_at=2,
)


class RosterConformance:
    """Promises of `Roster`."""

    @pytest.fixture
    def clock(self) -> VirtualClock:
        return VirtualClock()

    @pytest.fixture
    def roster(self, clock: VirtualClock) -> Roster:
        """The roster under test, with nobody on it."""
        raise NotImplementedError

    def test_who_joined_and_gave_a_sign_is_present_as_it_told(self, roster: Roster) -> None:
        for sign in (SIGN, IDLE):
            roster.report(sign)
            roster.join(sign.pool, sign.worker)
        assert list(roster.present(["gpu", "cpu", "none"])) == [IDLE, SIGN]
        assert list(roster.present(["gpu"])) == [SIGN]
        assert list(roster.present([])) == []

    def test_what_a_sign_does_not_say_any_more_is_forgotten(self, roster: Roster) -> None:
        roster.report(SIGN)
        roster.join("gpu", SIGN.worker)
        rests = replace(
            SIGN, state=WorkerState.IDLE, task_id=None, task_type=None, attempt=None, beat_at=9
        )
        roster.report(rests)
        assert list(roster.present(["gpu"])) == [rests]

    def test_who_left_is_gone_at_once(self, roster: Roster) -> None:
        for sign in (SIGN, replace(SIGN, worker="other")):
            roster.report(sign)
            roster.join("gpu", sign.worker)
        roster.leave(SIGN)
        assert [sign.worker for sign in roster.present(["gpu"])] == ["other"]
        roster.leave(SIGN)
        assert [sign.worker for sign in roster.present(["gpu"])] == ["other"]

    def test_who_has_been_silent_for_its_time_is_not_told_of_though_it_is_still_stored(
        self, roster: Roster, clock: VirtualClock
    ) -> None:
        roster.report(SIGN)
        roster.join("gpu", SIGN.worker)
        clock.advance(KEPT_SECONDS - 1)
        assert list(roster.present(["gpu"])) == [SIGN]
        clock.advance(2)
        assert list(roster.present(["gpu"])) == []

    def test_who_joins_clears_away_who_is_gone_and_nobody_else(
        self, roster: Roster, clock: VirtualClock
    ) -> None:
        roster.report(SIGN)
        roster.join("gpu", SIGN.worker)
        clock.advance(KEPT_SECONDS + 1)
        for name in ("a", "b"):
            roster.report(replace(SIGN, worker=name))
            roster.join("gpu", name)
        roster.report(SIGN)
        names = [sign.worker for sign in roster.present(["gpu"])]
        assert names == ["a", "b"], "struck off; it is on again when it joins again"
        roster.join("gpu", SIGN.worker)
        assert len(roster.present(["gpu"])) == 3

    def test_more_workers_than_one_batch_holds_are_all_present(self, roster: Roster) -> None:
        for number in range(130):
            roster.report(replace(IDLE, worker=f"w{number:03d}"))
            roster.join("cpu", f"w{number:03d}")
        assert len(roster.present(["cpu"])) == 130
