"""`taskgate put-back` and `after-restore` on a real store, as an operator types them."""

from __future__ import annotations

import json
from datetime import UTC, datetime

from taskgate.aws import clients
from taskgate.gateway.announcing import rfc3339
from taskgate.gateway.stamps import new_task_id
from taskgate.lifecycle.states import State
from taskgate.ports import Pulse
from taskgate.testing import aws_resources
from tests.unit.cli.conftest import Run
from tests.unit.cli.test_operators import Deployed, deployed

__all__ = ["deployed"]


def _beat(deployed: Deployed, task_id: str, attempt: int) -> None:
    at = deployed.ports.now()
    deployed.ports.pulses.beat(Pulse(task_id=task_id, attempt=attempt, worker="w1", beat_at=at))


def _to(deployed: Deployed) -> str:
    return datetime.fromtimestamp(deployed.ports.now() / 1000 - 600, UTC).isoformat()


def test_what_was_lost_and_what_is_behind_is_shown_first_and_raised_by_apply(
    deployed: Deployed, run: Run
) -> None:
    behind, at = deployed.new(State.QUEUED), deployed.ports.now()
    lost = new_task_id(at)
    _beat(deployed, behind.id, 3)
    _beat(deployed, lost, 1)
    line = ("after-restore", "--to", _to(deployed), "--stage", "dev")
    shown = run(*line, "--json")
    assert shown.code == 1
    found = {f["id"]: f for f in json.loads(shown.stdout)["tasks"]}
    assert found[behind.id]["kind"] == "behind"
    assert (found[behind.id]["known_attempt"], found[behind.id]["last_attempt"]) == (0, 3)
    assert (found[lost]["kind"], found[lost]["tenant"]) == ("lost", None)
    assert found[lost]["submitted_at"][:19] == rfc3339(at)[:19]
    untouched = deployed.ports.tasks.get(behind.id)
    assert untouched is not None
    assert untouched.attempt == 0

    done = run(*line, "--apply")
    assert done.code == 0
    assert "2 tasks, 1 of them lost" in done.stdout
    raised = deployed.ports.tasks.get(behind.id)
    assert raised is not None
    assert raised.attempt == 3
    assert deployed.ports.pulses.get(lost) is None


def test_that_nothing_is_newer_than_the_records_is_said(deployed: Deployed, run: Run) -> None:
    ran = run("after-restore", "--to", _to(deployed), "--stage", "dev")
    assert (ran.code, ran.stdout) == (0, "Nothing beside the records is newer than they are.\n")


def test_a_moment_that_is_none_is_wrong_usage(deployed: Deployed, run: Run) -> None:
    assert run("after-restore", "--to", "yesterday", "--stage", "dev").code == 2


def test_a_table_becomes_what_its_copy_is_after_a_look(deployed: Deployed, run: Run) -> None:
    client = clients.dynamodb()
    client.create_table(**aws_resources.tasks_table("copy"))
    kept = deployed.new(State.QUEUED)
    for item in client.scan(TableName="office-tasks")["Items"]:
        client.put_item(TableName="copy", Item=item)
    gone = [deployed.new() for _ in range(30)]
    deployed.claim(kept)
    line = ("put-back", "--from", "copy", "--stage", "dev")
    shown = run(*line)
    assert shown.code == 1
    assert "2 items written, 60 removed" in shown.stdout
    assert deployed.ports.tasks.get(gone[0].id)
    assert run(*line, "--apply").code == 0
    assert deployed.ports.tasks.get(kept.id) == kept
    assert deployed.ports.tasks.ledger(deployed.owner).active == {kept.id}
    assert all(deployed.ports.tasks.get(task.id) is None for task in gone)
    assert run(*line).code == 0


def test_a_key_that_was_revoked_meanwhile_stays_revoked_unless_all_is_put_back(
    deployed: Deployed, run: Run
) -> None:
    client = clients.dynamodb()
    client.create_table(**aws_resources.tasks_table("copy"))
    key = {"pk": {"S": "KEY#abc"}, "sk": {"S": "KEY"}}
    client.put_item(TableName="copy", Item={**key, "state": {"S": "active"}})
    client.put_item(TableName="office-tasks", Item={**key, "state": {"S": "revoked"}})

    def state() -> str:
        return client.get_item(TableName="office-tasks", Key=key)["Item"]["state"]["S"]

    line = ("put-back", "--from", "copy", "--stage", "dev", "--apply")
    assert run(*line).code == 0
    assert state() == "revoked"
    assert run(*line, "--all").code == 0
    assert state() == "active"


def test_a_table_is_not_put_back_from_itself_nor_from_one_that_is_not_there(
    deployed: Deployed, run: Run
) -> None:
    assert run("put-back", "--from", "office-tasks", "--stage", "dev", "--apply").code == 2
    assert run("put-back", "--from", "nowhere", "--stage", "dev", "--apply").code == 5
