from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from cdk_app import bundle, interpreters, target
from taskgate.settings import Environment, stage

MB = 1024 * 1024
ELF_MACHINE = {62: "x86_64", 183: "aarch64"}


@pytest.fixture(scope="module")
def host() -> Path:
    return bundle.build(target.host()).folder


@pytest.fixture(scope="module")
def aws() -> tuple[Path, target.Target]:
    """The bundle for AWS; on a machine without the target's Python, for this one's version."""
    wanted = target.LAMBDA
    try:
        interpreters.find(wanted.python)
    except interpreters.NoInterpreter:
        wanted = replace(wanted, python=target.host().python)
    return bundle.build(wanted).folder, wanted


# Asked of the target's own Python, which alone knows its magic number and how it hashes a source.
STALE_MODULES = """
import importlib.util, pathlib, sys
for source in pathlib.Path(sys.argv[1]).rglob("*.py"):
    found = pathlib.Path(importlib.util.cache_from_source(str(source))).read_bytes()[:16]
    unchecked = (1).to_bytes(4, "little")
    wanted = importlib.util.MAGIC_NUMBER + unchecked + importlib.util.source_hash(source.read_bytes())
    print(source if found != wanted else "current")
"""


def assert_compiled(folder: Path, python: str) -> None:
    command = [interpreters.find(python), "-c", STALE_MODULES, str(folder)]
    answers = subprocess.check_output(command, text=True).split()
    assert len(answers) > 300
    assert set(answers) == {"current"}


def test_every_module_is_compiled_for_the_python_that_the_emulator_runs(host):
    assert_compiled(host, target.host().python)


def test_every_module_is_compiled_for_the_python_that_lambda_runs(aws):
    folder, built_for = aws
    assert_compiled(folder, built_for.python)


def test_native_code_is_for_the_processor_that_the_functions_run_on(aws):
    folder, built_for = aws
    libraries = list(folder.rglob("*.so"))
    assert libraries
    for library in libraries:
        head = library.read_bytes()[:20]
        assert head[:4] == b"\x7fELF"
        assert ELF_MACHINE[int.from_bytes(head[18:20], "little")] == built_for.machine


def test_wheels_are_for_the_python_and_the_libc_of_the_runtime(aws):
    folder, built_for = aws
    tags = {
        line.removeprefix("Tag: ")
        for wheel in folder.glob("*.dist-info/WHEEL")
        for line in wheel.read_text().splitlines()
        if line.startswith("Tag: ") and not line.endswith("-any")
    }
    assert tags
    for tag in tags:
        python, abi, platform = tag.split("-", 2)
        # The stable ABI is good for every later Python.
        assert abi == "abi3" or python in {f"cp{built_for.python.replace('.', '')}", "cp3"}
        assert platform in {
            "manylinux_2_17_aarch64",
            "manylinux2014_aarch64",
            "manylinux_2_28_aarch64",
        }


@pytest.mark.parametrize(
    "room", ["admin", "api", "authorizer", "dead_letter", "reconcile", "stale_sweep"]
)
def test_a_function_starts_from_its_bundle_alone(host, room):
    """The emulator's Python would also find what lies in our environment; Lambda's would not."""
    script = f"import sys; sys.path.insert(0, {str(host)!r}); import functions.{room}.handler as h"
    script += f"; assert callable(h.handler); assert h.__file__.startswith({str(host)!r})"
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-c", script],
        env={**environment().as_variables(), "AWS_DEFAULT_REGION": "eu-west-1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr


def environment() -> Environment:
    return Environment(
        stage="local",
        tasks_table="tasks",
        ephemeral_table="ephemeral",
        results_bucket="results",
        lanes={"cpu-normal": "queue"},
        clock_shards=16,
        beat=15,
        lease=45,
        send_check=30,
        stall_grace=60,
        cancel_grace=30,
    )


def test_the_bundle_holds_no_tests_no_command_and_no_unused_service(host):
    assert not [name for name in bundle.LEFT_OUT if (host / "taskgate" / name).exists()]
    assert not list(host.rglob("*.pyi"))
    models = {path.name for path in (host / "botocore" / "data").iterdir() if path.is_dir()}
    assert models == {"dynamodb", "events", "lambda", "s3", "secretsmanager", "sqs", "sts"}
    assert sum(path.stat().st_size for path in host.rglob("*") if path.is_file()) < 48 * MB


def test_a_second_build_with_nothing_changed_does_nothing(host, monkeypatch):
    monkeypatch.setattr(bundle, "_digest", lambda *inputs: host.name.rpartition("-")[2])
    before = host.stat().st_mtime_ns
    assert bundle.build(target.host()).folder == host
    assert host.stat().st_mtime_ns == before


def test_a_changed_source_makes_another_bundle(host, monkeypatch):
    added = Path(__file__)
    monkeypatch.setattr(bundle, "ROOT", Path("/"))
    monkeypatch.setattr(bundle, "sources", lambda: [added])
    assert bundle._digest(target.host(), "") != host.name.rpartition("-")[2]


def test_the_same_inputs_make_the_same_bytes(host, tmp_path, monkeypatch):
    monkeypatch.setattr(bundle, "BUILD", tmp_path)
    again = bundle.build(target.host()).folder
    names = [path.relative_to(host) for path in sorted(host.rglob("*")) if path.is_file()]
    assert names == [p.relative_to(again) for p in sorted(again.rglob("*")) if p.is_file()]
    different = [n for n in names if (host / n).read_bytes() != (again / n).read_bytes()]
    assert different == []


def test_a_missing_interpreter_is_named_with_the_command_that_brings_it(monkeypatch):
    failed = subprocess.CompletedProcess([], 1, "", "")
    monkeypatch.setattr(interpreters, "_candidates", lambda version: iter(()))
    monkeypatch.setattr(interpreters, "_uv_python", lambda *arguments: failed)
    with pytest.raises(interpreters.NoInterpreter, match=r"uv python install 3\.13"):
        interpreters.find("3.13")


def test_a_python_of_another_version_is_never_taken_for_the_targets(monkeypatch):
    monkeypatch.setattr(
        interpreters, "_candidates", lambda version: iter([sys.executable, os.devnull])
    )
    monkeypatch.setattr(interpreters, "_install", lambda version: "installed")
    assert interpreters.find("3.99") == "installed"


def test_what_sends_spans_is_in_the_bundle_of_a_stage_that_names_a_collector_only(host):
    chosen = replace(stage("local"), otlp_endpoint="http://127.0.0.1:1")
    wanting = bundle.build(target.host(), bundle.extras_of(chosen)).folder
    script = f"import sys; sys.path.insert(0, {str(wanting)!r}); import functions.api.handler as h"
    told = {**environment().as_variables(), "TASKGATE_OTLP_ENDPOINT": "http://127.0.0.1:1"}
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-c", f"{script}; assert h._SPANS.on; h._SPANS.flush()"],
        env={**told, "AWS_DEFAULT_REGION": "eu-west-1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert not (host / "opentelemetry").exists()
    assert bundle.extras_of(stage("local")) == ()
