from __future__ import annotations

import json
import subprocess
import sys

import pytest

from cdk_app.bundle import ROOT
from cdk_app.report import lint
from taskgate.local.cdk import cdk, fingerprint
from taskgate.local.deploy import ASSETS_BUCKET
from taskgate.settings import STAGES


def test_the_linter_finds_nothing_in_the_templates_of_any_stage(synthesise, tmp_path):
    paths = []
    for name in STAGES:
        for template, part in zip(synthesise(name), ("data", "gateway"), strict=True):
            paths.append(tmp_path / f"{name}-{part}.template.json")
            paths[-1].write_text(json.dumps(template.body))
    assert lint(paths) == ""


@pytest.fixture(scope="module")
def assembly(tmp_path_factory):
    """An assembly made by the command itself, with a PATH on which nothing lies."""
    folder = tmp_path_factory.mktemp("synth")
    (folder / "empty").mkdir()
    cdk(
        ["synth", "--quiet", "--context", "stage=local", "--output", str(folder / "out")],
        log=folder / "synth.log",
        variables={"PATH": str(folder / "empty")},
    )
    return folder / "out"


def test_a_synth_needs_no_docker_and_nothing_else_on_the_path(assembly):
    assert len(list(assembly.rglob("*.template.json"))) == 2


def test_the_report_counts_every_resource(assembly):
    done = subprocess.run(
        [sys.executable, "-m", "cdk_app.report", assembly],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    assert "11 AWS::ApiGatewayV2::Route" in done.stdout
    assert "cfn-lint: no findings" in done.stdout


def test_the_local_stack_makes_the_bucket_that_the_app_publishes_to(assembly):
    assets = "".join(path.read_text() for path in assembly.rglob("*.assets.json"))
    assert f'"bucketName": "{ASSETS_BUCKET}"' in assets


def test_a_stage_has_one_fingerprint_and_two_targets_have_two():
    assert fingerprint("local") == fingerprint("local") != fingerprint("prod")


def test_an_unknown_stage_lists_the_known_ones():
    done = subprocess.run(
        [sys.executable, "-m", "cdk_app.fingerprint", "moon"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode != 0
    assert "one of local, dev, staging, prod" in done.stderr
