from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import httpx
import pytest

from taskgate.local import LocalStack, LocalStackError, assembly, cdk
from taskgate.local.emulator import Emulator
from taskgate.local.process import Child, plain_variables
from taskgate.local.unpacking import UNPACKED
from taskgate.settings import stage

pytestmark = [pytest.mark.emulator, pytest.mark.xdist_group("local-stack")]


@pytest.fixture(scope="module")
def stack(tmp_path_factory):
    with LocalStack(folder=tmp_path_factory.mktemp("stack")) as stack:
        yield stack


def is_running(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def ends_within(seconds: float, pid: int) -> bool:
    give_up = time.monotonic() + seconds
    while is_running(pid) and time.monotonic() < give_up:
        time.sleep(0.05)
    return not is_running(pid)


def test_the_real_stacks_deploy_to_the_emulator(stack):
    assert stack.environment.stage == "local"
    tables = stack.client("dynamodb").list_tables()["TableNames"]
    assert sorted(tables) == [stack.environment.ephemeral_table, stack.environment.tasks_table]


def status_of(stack, path):
    with httpx.Client(base_url=stack.api_url, trust_env=False, timeout=60) as http:
        return http.get(path).status_code


def test_a_caller_without_a_key_is_turned_away_before_any_function_runs(stack):
    assert status_of(stack, "/v1/tasks") == 401


def test_an_unknown_path_costs_no_function_call(stack):
    assert status_of(stack, "/v1/nothing") == 404


def test_two_stacks_can_be_up_at_once_and_share_nothing(stack):
    with LocalStack() as other:
        assert other.endpoint_url != stack.endpoint_url
        other.client("dynamodb").put_item(
            TableName=other.environment.tasks_table, Item={"pk": {"S": "a"}, "sk": {"S": "b"}}
        )
        counted = stack.client("dynamodb").scan(TableName=stack.environment.tasks_table)
    assert counted["Count"] == 0
    assert not other.folder.exists()


def test_an_unchanged_stack_is_deployed_again_without_a_new_synth(stack, monkeypatch):
    monkeypatch.setattr(assembly, "fingerprint", lambda stage_name: "same" * 4)
    made = []
    monkeypatch.setattr(
        assembly, "_synthesise_into", lambda folder, label, context: made.append(folder.mkdir())
    )
    folder = assembly.synthesise("local")
    try:
        assert assembly.synthesise("local") == folder
        assert len(made) == 1
    finally:
        folder.rmdir()


def test_a_diff_of_what_was_just_deployed_finds_nothing(stack, tmp_path):
    app = str(assembly.synthesise("local"))
    log = tmp_path / "diff.log"
    # With --fail a difference ends the command with an error.
    cdk.cdk(["diff", "**", "--app", app, "--fail"], log=log, variables=stack.client_variables)
    assert "Number of stacks with differences: 0" in log.read_text()


def test_the_cdk_sees_the_machines_proxies_but_not_its_aws_settings(monkeypatch):
    """A developer's profile must not decide where a local stack goes; npm needs the proxy."""
    monkeypatch.setenv("AWS_PROFILE", "prod")
    monkeypatch.setenv("HTTPS_PROXY", "http://proxy.example")
    variables = cdk._without_aws()
    assert "AWS_PROFILE" not in variables
    assert variables["HTTPS_PROXY"] == "http://proxy.example"


def test_functions_and_workers_see_no_variable_of_the_shell_that_started_them(monkeypatch):
    monkeypatch.setenv("TASKGATE_STAGE", "prod")
    monkeypatch.setenv("PYTHONPATH", "/elsewhere")
    assert not {"TASKGATE_STAGE", "PYTHONPATH", "AWS_PROFILE"} & plain_variables().keys()


def test_a_functions_environments_read_one_copy_of_its_code(stack):
    """Each would have two thousand files of its own, which take seconds to write and to remove."""
    stack.sweep()
    codes = list((stack.folder / "tmp").glob("ministack-lambda-*/code"))
    assert codes
    assert {code.resolve().parent for code in codes} == {UNPACKED}


def test_a_persistent_stack_keeps_its_tasks_and_its_address_over_a_restart(tmp_path):
    with LocalStack(folder=tmp_path, persist=True) as first:
        address = first.endpoint_url
        first.client("dynamodb").put_item(
            TableName=first.environment.tasks_table, Item={"pk": {"S": "a"}, "sk": {"S": "b"}}
        )
    with LocalStack(folder=tmp_path, persist=True) as second:
        assert second.endpoint_url == address
        kept = second.client("dynamodb").scan(TableName=second.environment.tasks_table)
        assert kept["Count"] == 1


def test_an_emulator_does_not_outlive_a_parent_that_is_killed(tmp_path):
    script = (
        "import sys, time; from pathlib import Path; from taskgate.local.emulator import Emulator"
    )
    script += "; e = Emulator(Path(sys.argv[1])); print(e._child.pid, flush=True); time.sleep(600)"
    parent = subprocess.Popen(
        [sys.executable, "-c", script, str(tmp_path)], stdout=subprocess.PIPE, text=True
    )
    with parent:
        pid = int(parent.stdout.readline())
        assert is_running(pid)
        parent.send_signal(signal.SIGKILL)
    assert ends_within(60, pid)


def test_stopping_a_process_ends_what_it_started_even_when_it_was_killed_before(tmp_path):
    module = "import subprocess; print(subprocess.Popen(['sleep', '600']).pid, flush=True); input()"
    (tmp_path / "parent_of_one.py").write_text(module)
    variables = plain_variables() | {"PYTHONPATH": f"{tmp_path}{os.pathsep}{cdk.ROOT}"}
    child = Child("parent_of_one", variables=variables, log=tmp_path / "log")
    give_up = time.monotonic() + 60
    while not child.last_lines() and time.monotonic() < give_up:
        time.sleep(0.05)
    child.signal(signal.SIGKILL)
    child.stop()
    assert ends_within(60, int(child.last_lines()))


def test_an_emulator_listens_on_loopback_only_and_on_one_port(tmp_path):
    emulator = Emulator(tmp_path)
    try:
        addresses = listening_addresses(emulator._child.pid)
    finally:
        emulator.stop()
    assert addresses == [f"0100007F:{emulator._port:04X}"]


def listening_addresses(pid: int) -> list[str]:
    """The addresses, in hex as the kernel writes them, on which a process listens."""
    descriptors = Path(f"/proc/{pid}/fd").iterdir()
    own = {link.readlink().name for link in descriptors}
    table = [line.split() for line in Path(f"/proc/{pid}/net/tcp").read_text().splitlines()[1:]]
    return [row[1] for row in table if row[3] == "0A" and f"socket:[{row[9]}]" in own]


def test_the_emulator_holds_each_role_to_its_policy(stack):
    """So a right that is missing fails here first, and not on AWS."""
    iam = stack.client("iam")
    [sweep] = [r["Arn"] for r in iam.list_roles()["Roles"] if "SweepRole" in r["RoleName"]]
    table = stack.client("dynamodb").describe_table(TableName=stack.environment.tasks_table)
    answer = iam.simulate_principal_policy(
        PolicySourceArn=sweep,
        ActionNames=["dynamodb:UpdateItem", "dynamodb:DeleteItem"],
        ResourceArns=[table["Table"]["TableArn"]],
    )
    decisions = {r["EvalActionName"]: r["EvalDecision"] for r in answer["EvaluationResults"]}
    assert decisions == {
        "dynamodb:UpdateItem": "allowed",
        "dynamodb:DeleteItem": "implicitDeny",
    }


def test_nothing_can_be_asked_of_a_stack_that_is_not_up():
    stack = LocalStack()
    with pytest.raises(LocalStackError, match="not up"):
        _ = stack.api_url
    stack.stop()


def test_the_functions_environment_is_the_workers(stack):
    function = (
        stack._up[0]
        .client("lambda")
        .get_function_configuration(FunctionName=f"{stage('local').prefix}-api")
    )
    assert function["Environment"]["Variables"] == stack.environment.as_variables()


def test_logs_of_a_deploy_are_kept_in_the_stacks_folder(stack):
    assert (stack.folder / "emulator.log").exists()
    assert "✅" in (stack.folder / "deploy.log").read_text()
    assert json.loads((stack.folder / "outputs.json").read_text())
