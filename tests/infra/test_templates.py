from __future__ import annotations

import json
import subprocess
import sys

import pytest

from cdk_app import report
from cdk_app.bundle import ROOT
from cdk_app.wildcards import ACKNOWLEDGED, unexplained
from taskgate.local.cdk import cdk, fingerprint
from taskgate.local.deploy import ASSETS_BUCKET
from taskgate.routes import ROUTES
from taskgate.settings import stage


def test_the_linter_finds_nothing_in_the_templates(synthesise, observed, workers_of, tmp_path):
    paths = []
    for name in ("local", "prod"):  # dev and staging differ from prod in numbers only
        more = [] if stage(name).emulator else [observed(name), workers_of(name)]
        parts = ("data", "gateway", "observability", "workers")
        for template, part in zip([*synthesise(name), *more], parts, strict=False):
            paths.append(tmp_path / f"{name}-{part}.template.json")
            paths[-1].write_text(json.dumps(template.body))
    assert report.lint(paths) == ""


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


@pytest.mark.xdist_group("synth")
def test_a_synth_needs_no_docker_and_nothing_else_on_the_path(assembly):
    assert len(list(assembly.rglob("*.template.json"))) == 2


@pytest.mark.xdist_group("synth")
def test_the_report_counts_every_resource_and_fails_on_a_finding(assembly, monkeypatch, capsys):
    monkeypatch.setattr(report, "lint", lambda templates: "")
    assert report.main(assembly) == 0
    assert f"{len(ROUTES)} AWS::ApiGatewayV2::Route" in capsys.readouterr().out
    monkeypatch.setattr(report, "lint", lambda templates: "E3002 wrong")
    assert report.main(assembly) == 1
    assert "cfn-lint: 1\n  E3002 wrong" in capsys.readouterr().out


@pytest.mark.xdist_group("synth")
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


def test_every_wildcard_of_a_role_is_explained_beside_it(synthesise, workers_of):
    templates = [*synthesise("prod"), workers_of("prod")]
    assert [line for t in templates for line in unexplained(t.body)] == []


def test_a_wildcard_that_nobody_explained_is_found(synthesise):
    _, gateway = synthesise("prod")
    body = json.loads(json.dumps(gateway.body))
    for resource in body["Resources"].values():
        resource.get("Metadata", {}).pop(ACKNOWLEDGED, None)
    found = list(unexplained(body))
    assert [line for line in found if line.endswith("/r/*]")]
    assert [line for line in found if line.endswith("[Resource::*]")]


def test_every_acknowledgment_has_a_reason_that_says_something(synthesise, workers_of):
    said = {
        (rule, reason)
        for template in (*synthesise("prod"), workers_of("prod"))
        for resource in template.body["Resources"].values()
        for rule, reason in resource.get("Metadata", {}).get(ACKNOWLEDGED, {}).items()
    }
    assert len(said) > 8
    assert all(len(reason.split()) >= 4 for _, reason in said)


def test_the_report_tells_what_the_rules_found_and_fails(tmp_path, monkeypatch, capsys):
    violation = {"ruleName": "AwsSolutions-S1", "description": "no access log"}
    (tmp_path / "validation-report.json").write_text(
        json.dumps({"pluginReports": [{"violations": [violation]}]})
    )
    monkeypatch.setattr(report, "lint", lambda templates: "")
    assert report.main(tmp_path) == 1
    assert "cdk-nag (AwsSolutions): 1\n  AwsSolutions-S1: no access log" in capsys.readouterr().out
