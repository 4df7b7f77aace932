"""`taskgate reconcile` and `taskgate redrive` on a real store, as an operator types them."""

from __future__ import annotations

import json
import re
import shlex
import socket
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
from moto import mock_aws

from taskgate.aws import clients
from taskgate.aws.audit import DynamoAudit
from taskgate.aws.ports import build
from taskgate.aws.proofs import DynamoProofs
from taskgate.cli import office
from taskgate.cli.connection import LocalNote
from taskgate.gateway.announcing import rfc3339
from taskgate.lifecycle import transitions
from taskgate.lifecycle.retry import ErrorClass, ErrorCode, GiveUp
from taskgate.lifecycle.states import State
from taskgate.proofs import Finding, Proof
from taskgate.receivers import Health, mark_of
from taskgate.task import Task, TaskError
from taskgate.testing import aws_resources
from taskgate.testing.conformance import World
from taskgate.testing.factories import stamp
from tests.unit.cli.conftest import Run

ROOT = Path(__file__).parents[3]
PAGES = [*ROOT.glob("docs/runbook/*.md"), *ROOT.glob("docs/how-to/re[cd]*.md")]


@dataclass
class Deployed(World):
    """A deployment that the commands find."""

    audit: DynamoAudit | None = None

    def failed(self) -> Task:
        held = self.claim(self.new(State.QUEUED))
        error = TaskError(ErrorCode.POISON, "no", ErrorClass.PERMANENT)
        end = transitions.fail(held, stamp(self.ports.now()), error, GiveUp("no"))
        return self.ports.tasks.apply(end)

    def drift(self, by: int) -> None:
        assert self.audit
        book, _ = self.audit.snapshot(self.owner, 0, [])
        ledger = replace(book.ledger, submitted=book.ledger.submitted + by)
        assert self.audit.mend_book(book, ledger)


@pytest.fixture
def deployed(monkeypatch: pytest.MonkeyPatch) -> Iterator[Deployed]:
    with mock_aws():
        environment = aws_resources.create("office")
        ports = build(environment)
        monkeypatch.setattr(office, "_environment", lambda stage: environment)
        audit = DynamoAudit(clients.dynamodb(), table=environment.tasks_table, clock_shards=16)
        yield Deployed(ports, audit=audit)


def _ill(deployed: Deployed, receiver: str, **health: int) -> Health:
    recorded = deployed.ports.receivers.swap(receiver, Health(), Health(**health))
    assert recorded
    return recorded


def test_receivers_that_are_out_of_reach_are_shown_the_longest_first(
    deployed: Deployed, run: Run
) -> None:
    now = deployed.ports.now()
    _ill(deployed, "acme|late.example:443", failures=6, opened_at=now - 60_000, next_probe_at=now)
    opened = {"opened_at": now - 7_200_000, "next_probe_at": now + 600_000}
    _ill(deployed, "evil|down.example:8443", failures=12, **opened)
    _ill(deployed, "acme|shaky.example:443", failures=2)
    ran = run("receivers", "--stage", "dev", "--json")
    found = json.loads(ran.stdout)["receivers"]
    assert [(r["tenant"], r["receiver"], r["breaker"], r["failures"]) for r in found] == [
        ("evil", "down.example:8443", "open", 12),
        ("acme", "late.example:443", "open", 6),
        ("acme", "shaky.example:443", "failing", 2),
    ]
    assert found[0]["since"] == rfc3339(now - 7_200_000)
    assert found[0]["next_probe_at"] == rfc3339(now + 600_000)
    assert found[0]["mark"] == mark_of("evil|down.example:8443")
    shown = run("receivers", "--stage", "dev")
    assert re.search(
        r"evil\s+down.example:8443\s+open\s+12\s+about 2 h ago\s+in about", shown.stdout
    )
    assert re.search(r"late.example:443\s+open\s+6\s+about \d+ (s|min) ago\s+due", shown.stdout)
    assert re.search(r"shaky.example:443\s+failing\s+2\s+-\s+-", shown.stdout)


def test_that_every_receiver_is_well_is_said(deployed: Deployed, run: Run) -> None:
    ran = run("receivers", "--stage", "dev")
    assert (ran.code, ran.stdout) == (
        0,
        "every receiver that was tried in the last 24 hours is well\n",
    )


def test_books_that_balance_end_with_0(deployed: Deployed, run: Run) -> None:
    deployed.new()
    ran = run("reconcile", "--stage", "dev", "--json")
    assert (ran.code, json.loads(ran.stdout)["unaccounted"]) == (0, 0)


def test_differences_are_shown_with_both_values_and_end_with_1(
    deployed: Deployed, run: Run
) -> None:
    deployed.new()
    deployed.drift(3)
    ran = run("reconcile", "--stage", "dev")
    assert ran.code == 1
    assert "submitted 4" in ran.stdout
    assert "active 1 + ended 0" in ran.stdout
    assert "taskgate reconcile --apply --stage dev" in ran.stderr
    assert not deployed.ports.tasks.ledger(deployed.owner).balanced


def test_what_was_repaired_is_no_difference_any_more(deployed: Deployed, run: Run) -> None:
    deployed.new()
    deployed.drift(3)
    ran = run("reconcile", "--stage", "dev", "--apply", "--json")
    told = json.loads(ran.stdout)
    assert (ran.code, told["unaccounted"], told["repaired"], told["left"]) == (0, 3, 1, 0)
    assert run("reconcile", "--stage", "dev").code == 0


def test_what_the_hourly_run_found_last_is_shown_and_ends_with_1_while_it_differs(
    deployed: Deployed, run: Run
) -> None:
    none = run("reconcile", "--last", "--stage", "dev")
    assert (none.code, "No run has come to its end yet" in none.stderr) == (3, True)
    found = Finding(kind="no_clock", found="none", expected="one", task_id="task_1", owner="a#b")
    differs = Proof(
        began_at=1,
        ended_at=2,
        finished=True,
        unaccounted=1,
        kinds={"no_clock": 1},
        findings=(found,),
    )
    store = DynamoProofs(clients.dynamodb(), table="office-tasks")
    store.keep(differs)
    shown = run("reconcile", "--last", "--stage", "dev")
    assert shown.code == 1
    assert "task_1" in shown.stdout
    assert "1 unaccounted" in shown.stdout
    store.keep(Proof(began_at=1, ended_at=2, finished=True, tasks=5))
    told = run("reconcile", "--last", "--stage", "dev", "--json")
    last = json.loads(told.stdout)["last"]
    assert (told.code, last["tasks"], last["differences"]) == (0, 5, 0)
    assert last["began_at"] == "1970-01-01T00:00:00.001Z"
    assert run("reconcile", "--last", "--apply", "--stage", "dev").code == 2


def test_redrive_shows_first_and_changes_nothing(deployed: Deployed, run: Run) -> None:
    bad = deployed.failed()
    ran = run("redrive", "--stage", "dev", "--code", "poison")
    assert ran.code == 0
    assert bad.id in ran.stdout
    assert "1 tasks: 1 poison" in ran.stdout
    assert deployed.ports.tasks.get(bad.id) == bad


def test_redrive_with_apply_reopens_what_it_showed(deployed: Deployed, run: Run) -> None:
    bad = [deployed.failed() for _ in range(3)]
    ran = run("redrive", "--stage", "dev", "--since", "1h", "--apply", "--json")
    assert (ran.code, json.loads(ran.stdout)["reopened"]) == (0, 3)
    for task in bad:
        after = deployed.ports.tasks.get(task.id)
        assert after is not None
        assert after.state is State.QUEUED


def test_one_task_is_redriven_by_its_id(deployed: Deployed, run: Run) -> None:
    bad, other = deployed.failed(), deployed.failed()
    assert run("redrive", bad.id, "--stage", "dev", "--apply").code == 0
    assert deployed.ports.tasks.get(other.id) == other
    again = run("redrive", bad.id, "--stage", "dev", "--apply")
    assert again.code == 1
    assert "it is queued" in again.stdout


def test_an_unknown_id_is_3_and_a_wrong_filter_is_2(deployed: Deployed, run: Run) -> None:
    assert run("redrive", "task_gone", "--stage", "dev").code == 3
    assert run("redrive", "--stage", "dev", "--code", "nonsense").code == 2
    assert run("redrive", "--stage", "dev", "--since", "yesterday").code == 2


@pytest.mark.parametrize("command", ["reconcile", "redrive"])
def test_no_deployment_is_ever_guessed(run: Run, command: str) -> None:
    assert run(command).code == 2
    assert run(command, "--local", "--stage", "prod").code == 2
    assert run(command, "--stage", "moon").code == 2


@pytest.mark.parametrize("command", ["reconcile", "redrive"])
def test_what_aws_refuses_is_said_in_two_lines(deployed: Deployed, run: Run, command: str) -> None:
    clients.dynamodb().delete_table(TableName="office-tasks")
    ran = run(command, "--stage", "dev")
    assert ran.code == 5
    assert "ResourceNotFound" in ran.stderr
    assert "Traceback" not in ran.stderr


def test_local_without_a_running_stack_says_how_to_start_one(
    run: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: object
) -> None:
    monkeypatch.chdir(str(tmp_path))
    ran = run("reconcile", "--local")
    assert ran.code == 2
    assert "taskgate dev" in ran.stderr


def test_local_after_the_stack_was_killed_says_that_it_is_gone(
    run: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        nobody = f"http://127.0.0.1:{free.getsockname()[1]}"
        LocalNote(nobody, "tg_key", nobody).write(tmp_path)
        monkeypatch.chdir(tmp_path)
        ran = run("reconcile", "--local")
    assert ran.code == 5
    assert f"{nobody}, is gone" in ran.stderr
    assert "make dev" in ran.stderr


def test_every_command_of_runbook_and_how_to_is_one_that_works(
    deployed: Deployed, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(office, "_point_at_local", lambda: None)
    found = {
        line
        for page in PAGES
        for block in re.findall(r"```sh\n(.*?)```", page.read_text("utf-8"), re.DOTALL)
        for line in re.findall(r"^taskgate (.*)$", block, re.MULTILINE)
    }
    assert len(found) > 5
    for line in sorted(found):
        assert run(*shlex.split(line)).code in {0, 3}, line
