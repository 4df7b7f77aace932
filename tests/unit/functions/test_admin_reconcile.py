"""What the last check found, over HTTP, and one more that an operator asks for."""

from __future__ import annotations

from dataclasses import replace

import pytest

from taskgate.errors import Unavailable
from taskgate.gateway.office import proving
from taskgate.gateway.office.reconciling import reconcile
from taskgate.proofs import MOST_FINDINGS, MOST_TEXT, Finding, Proof, from_text, to_text
from taskgate.testing.memory.audit import MemoryAudit
from tests.unit.functions.api_world import ADA, OPERATOR, ApiWorld

PATH = "/v1/admin/reconcile"


@pytest.fixture
def api() -> ApiWorld:
    return ApiWorld()


def run(api: ApiWorld, seconds: int = 60) -> None:
    """As the function does it."""
    ports, began = api.world.ports, api.world.clock()
    proving.begin(api.proofs, began)
    report = reconcile(
        ports,
        MemoryAudit(api.world.tasks),
        apply=False,
        segments=range(2),
        of=2,
        stop_at=began + 10**6,
    )
    api.world.clock.advance(seconds)
    proving.keep(api.proofs, report, began, ports.now())


def test_before_the_first_run_nothing_is_known_and_that_is_said(api: ApiWorld) -> None:
    answer = api.get(PATH, OPERATOR)
    assert answer.status == 200
    assert (answer.json["state"], answer.json["last"]) == ("idle", None)


def test_a_run_is_told_with_its_times_and_that_nothing_differs(api: ApiWorld) -> None:
    api.submitted()
    run(api)
    last = api.get(PATH, OPERATOR).json["last"]
    assert (last["tasks"], last["books"], last["finished"]) == (1, 1, True)
    assert (last["differences"], last["unaccounted"], last["findings"]) == (0, 0, [])
    assert last["began_at"] < last["ended_at"]


def test_a_difference_is_told_by_kind_and_with_its_evidence(api: ApiWorld) -> None:
    task_id = api.submitted()
    books = api.world.tasks.books[ADA.owner, 0]
    api.world.tasks.books[ADA.owner, 0] = replace(books, active=frozenset(), submitted=3)
    run(api)
    last = api.get(PATH, OPERATOR).json["last"]
    assert {"kind": "live_but_not_in_the_books", "count": 1} in last["kinds"]
    lost = last["findings"][0]
    assert (lost["task_id"], lost["tenant"], lost["user"]) == (task_id, "acme", "ada")
    assert (lost["found"], lost["expected"]) == ("queued, but not active", "active")
    assert api.world.tasks.books[ADA.owner, 0].submitted == 3, "it repairs nothing"


def test_a_run_that_is_asked_for_is_started_once_and_names_who_asked(api: ApiWorld) -> None:
    for _ in range(3):
        answer = api.post(PATH, {}, OPERATOR)
        assert (answer.status, answer.json["state"]) == (202, "asked")
    assert api.prover.started == 1
    assert answer.json["asked_by"] == "olga/k9"
    proving.begin(api.proofs, api.world.clock() + 1)
    api.world.clock.advance(30)
    answer = api.post(PATH, {}, OPERATOR)
    assert (answer.json["state"], api.prover.started) == ("running", 1)


def test_after_its_end_and_after_a_run_that_died_another_can_be_asked_for(api: ApiWorld) -> None:
    api.post(PATH, {}, OPERATOR)
    api.world.clock.advance(1)
    run(api)
    assert api.get(PATH, OPERATOR).json["state"] == "idle"
    proving.begin(api.proofs, api.world.clock())
    assert api.post(PATH, {}, OPERATOR).json["state"] == "running"
    api.world.clock.advance(16 * 60)
    assert api.post(PATH, {}, OPERATOR).json["state"] == "asked"
    assert api.prover.started == 2


def test_a_run_that_could_not_be_started_is_503_and_is_not_noted_as_asked_for(
    api: ApiWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    def away() -> None:
        raise Unavailable

    monkeypatch.setattr(api.prover, "start", away)
    assert api.post(PATH, {}, OPERATOR).status == 503
    assert api.get(PATH, OPERATOR).json["state"] == "idle"


def test_an_administrator_of_a_tenant_neither_reads_nor_asks(api: ApiWorld) -> None:
    admin = replace(OPERATOR, scopes=OPERATOR.scopes - {"operator"})
    assert api.get(PATH, admin).code == "missing_scope"
    assert api.post(PATH, {}, admin).code == "missing_scope"
    assert api.prover.started == 0


def test_the_record_is_bounded_however_much_differs() -> None:
    bad = Finding(kind="unreadable", found="x" * 10_000, expected="y" * 10_000, task_id="t" * 40)
    many = Proof(began_at=1, ended_at=2, finished=True, kinds={"a": 5000}, findings=(bad,) * 5000)
    text = to_text(many)
    assert len(text.encode()) < 100_000
    kept = from_text(text)
    assert (len(kept.findings), kept.differences) == (MOST_FINDINGS, 5000)
    assert len(kept.findings[0].found) == MOST_TEXT


def test_a_record_of_a_later_version_can_be_read() -> None:
    text = to_text(Proof(began_at=1, ended_at=2, finished=True)).replace("{", '{"new": 1, ', 1)
    assert from_text(text).ended_at == 2
