from __future__ import annotations

import json
import os
import re
import subprocess
import sys

import pytest

from cdk_app import report
from cdk_app.bundle import ROOT
from cdk_app.wildcards import ACKNOWLEDGED, flat, unexplained
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


def test_a_synth_needs_no_docker_and_nothing_else_on_the_path(assembly):
    assert len(list(assembly.rglob("*.template.json"))) == 2


def test_the_report_counts_every_resource_and_fails_on_a_finding(assembly, monkeypatch, capsys):
    monkeypatch.setattr(report, "lint", lambda templates: "")
    assert report.main(assembly) == 0
    assert f"{len(ROUTES)} AWS::ApiGatewayV2::Route" in capsys.readouterr().out
    monkeypatch.setattr(report, "lint", lambda templates: "E3002 wrong")
    assert report.main(assembly) == 1
    assert "cfn-lint: 1\n  E3002 wrong" in capsys.readouterr().out


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


NAGGED = """
import json, sys
from dataclasses import replace
from pathlib import Path
import aws_cdk as cdk
from cdk_app import findings
from cdk_app.bundle import ROOT, Bundle
from cdk_app.deployment import Deployment
from taskgate.capacity import Egress, Host
from taskgate.settings import stage

out, bundle, ours = map(Path, sys.argv[1:4])
context = json.loads((ROOT / "cdk.json").read_text())["context"]
app = cdk.App(context=context, outdir=str(out))
findings.check(app)
prod = stage("prod")
gpu = replace(prod.workers.pools["gpu"], host=Host.EC2, spot=True)
ec2 = replace(prod.workers, pools={**prod.workers.pools, "gpu": gpu}, egress=Egress.ENDPOINTS)
cells = [prod, replace(prod, cell="c1", workers=ec2, event_bus=True)]
# A Region that is known: CDK would look its zones up, if it were left to.
env = cdk.Environment(account="123456789012", region="eu-central-1")
for one in cells:
    Deployment(app, f"taskgate-{one.cell}", stage=one, bundle=Bundle(bundle, "0" * 64), env=env)
if ours.name == "loose":
    from aws_cdk import aws_sqs as sqs
    sqs.Queue(cdk.Stack(app, "Loose"), "NoTls")
app.synth()
"""


@pytest.fixture(scope="module")
def nagged(tmp_path_factory):
    """Two cells of prod in one app, by the rules; the second has every other setting the other way."""
    folder = tmp_path_factory.mktemp("nagged")
    (folder / "bundle").mkdir()

    def run(name, *, kind="clean"):
        done = subprocess.run(
            [sys.executable, "-c", NAGGED, folder / name, folder / "bundle", folder / kind],
            cwd=ROOT,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
            capture_output=True,
            text=True,
            check=False,
        )
        return done, folder / name

    return run


@pytest.fixture(scope="module")
def cells(nagged):
    done, folder = nagged("once")
    assert done.returncode == 0, done.stderr[-3000:]
    return folder


def test_the_rules_find_nothing_in_any_stack_whatever_the_workers_run_on(cells):
    assert report.nag(cells) == []
    bodies = [json.loads(p.read_text()) for p in cells.rglob("*.template.json")]
    assert len(bodies) == 8
    assert [line for body in bodies for line in unexplained(body)] == []


def test_a_queue_without_tls_ends_the_synth_and_is_named(nagged):
    done, folder = nagged("loose-out", kind="loose")
    assert done.returncode != 0
    assert any("AwsSolutions-SQS4" in line for line in report.nag(folder))


def test_a_second_synth_of_the_same_source_changes_nothing(cells, nagged):
    _, again = nagged("twice")
    first, second = (
        {p.name: p.read_bytes() for p in folder.rglob("*.template.json")}
        for folder in (cells, again)
    )
    assert first == second
    assert len(first) == 8


def test_nothing_is_looked_up_at_synth_also_when_account_and_region_are_known(cells):
    manifests = [json.loads(p.read_text()) for p in cells.rglob("manifest.json")]
    assert manifests
    assert not [m["missing"] for m in manifests if m.get("missing")]


def test_two_cells_of_one_stage_in_one_account_share_no_name(cells):
    names = [_physical_names(p) for p in sorted(cells.rglob("*.template.json"))]
    for cell in ("c0", "c1"):
        mine = {n for found in names for n in found if f"-{cell}" in n}
        assert len(mine) > 40
    of_both = [n for found in names for n in found]
    assert [n for n in of_both if n.startswith("export ")]
    for assembly in cells.rglob("manifest.json"):
        artifacts = json.loads(assembly.read_text()).get("artifacts", {}).values()
        of_both += [
            p["stackName"] for a in artifacts if "stackName" in (p := a.get("properties", {}))
        ]
    assert len(of_both) == len(set(of_both))


def _physical_names(template):
    """Every name that a template chooses itself, with the type that it must be unique in."""
    keys = re.compile(r"^(Name|\w*Name|Family)$")
    foreign = {
        "MetricName",
        "AttributeName",
        "IndexName",
        "ContainerName",
        "ServiceName",
        "StageName",
    }
    body = json.loads(template.read_text())
    outputs = body.get("Outputs", {}).values()
    exports = [f"export {flat(o['Export']['Name'])}" for o in outputs if "Export" in o]
    return exports + [
        f"{r['Type']} {flat(value)}"
        for name, r in body["Resources"].items()
        for key, value in r.get("Properties", {}).items()
        if keys.match(key)
        and key not in foreign
        and not flat(value).startswith("<")
        # Named by CDK after its place in the stack, which is in the stack's own name space.
        and r["Type"] not in {"AWS::IAM::Policy", "AWS::ApplicationAutoScaling::ScalingPolicy"}
        # Unique within its API.
        and r["Type"] != "AWS::ApiGatewayV2::Authorizer"
    ]


def test_exports_go_one_way_from_data_and_no_stack_needs_itself(cells):
    stacks = {
        json.loads(p.read_text()).get("Description", "").removeprefix("Taskgate: "): p.read_text()
        for p in cells.rglob("*c0*/*.template.json")
    }
    assert len(stacks) == 4
    imports = {
        name: set(re.findall(r'"Fn::ImportValue": "taskgate-prod-c0-(\w+):', text))
        for name, text in stacks.items()
    }
    data = next(name for name in stacks if "tables" in name)
    assert imports.pop(data) == set()
    assert all("data" in needed for needed in imports.values())
    for name, needed in imports.items():
        assert needed <= {"data", "gateway", "workers"}, name
        assert ("workers" in needed or "gateway" in needed) <= ("alarms" in name), name
