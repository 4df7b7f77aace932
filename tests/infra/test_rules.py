"""cdk-nag's rules, and what must hold over all stacks of two cells that are deployed side by side."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from cdk_app import report
from cdk_app.bundle import ROOT
from cdk_app.wildcards import flat, unexplained

pytestmark = pytest.mark.xdist_group("rules")

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

out, bundle, *loose = sys.argv[1:]
context = json.loads((ROOT / "cdk.json").read_text())["context"]
app = cdk.App(context=context, outdir=out)
findings.check(app)
prod = stage("prod")
gpu = replace(prod.workers.pools["gpu"], host=Host.EC2, spot=True)
ec2 = replace(prod.workers, pools={**prod.workers.pools, "gpu": gpu}, egress=Egress.ENDPOINTS)
cells = [prod, replace(prod, cell="c1", workers=ec2, event_bus=True)]
# A Region that is known: CDK would look its zones up, if it were left to.
env = cdk.Environment(account="123456789012", region="eu-central-1")
for one in cells:
    Deployment(app, f"taskgate-{one.cell}", stage=one, bundle=Bundle(Path(bundle), "0" * 64), env=env)
app.synth()
if loose:
    from aws_cdk import aws_sqs as sqs
    bad = cdk.App(context=context, outdir=loose[0])
    findings.check(bad)
    sqs.Queue(cdk.Stack(bad, "Loose"), "NoTls")
    bad.synth()
"""


@pytest.fixture(scope="module")
def place(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("nagged")
    (folder / "bundle").mkdir()
    return folder


def synthesised(place: Path, *names: str) -> subprocess.CompletedProcess[str]:
    """Two cells of prod in one app, by the rules; the second has every other setting the other way.

    With a second name, also an app with one bad queue: the same process, as Node takes long to start.
    """
    folders = [place / names[0], place / "bundle", *(place / name for name in names[1:])]
    return subprocess.run(
        [sys.executable, "-c", NAGGED, *folders],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.fixture(scope="module")
def cells(place):
    done = synthesised(place, "once")
    assert done.returncode == 0, done.stderr[-3000:]
    return place / "once"


@pytest.fixture(scope="module")
def again(place):
    """A second synth in another process, and then the bad queue."""
    return synthesised(place, "twice", "loose")


def test_the_rules_find_nothing_in_any_stack_whatever_the_workers_run_on(cells):
    assert report.nag(cells) == []
    bodies = [json.loads(p.read_text()) for p in cells.rglob("*.template.json")]
    assert len(bodies) == 8
    assert [line for body in bodies for line in unexplained(body)] == []


def test_a_queue_without_tls_ends_the_synth_and_is_named(place, again):
    assert again.returncode != 0
    assert report.nag(place / "twice") == []
    assert any("AwsSolutions-SQS4" in line for line in report.nag(place / "loose"))


def test_a_second_synth_of_the_same_source_changes_nothing(place, cells, again):
    first, second = (
        {p.name: p.read_bytes() for p in folder.rglob("*.template.json")}
        for folder in (cells, place / "twice")
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
