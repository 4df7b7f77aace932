"""The real ``cdk deploy`` of the real stacks, against the emulator."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from taskgate.local.assembly import synthesise
from taskgate.local.cdk import cdk
from taskgate.local.emulator import Emulator
from taskgate.settings import Environment, Stage

# The same name stands in cdk_app/deployment.py; a test holds the two together.
ASSETS_BUCKET = "taskgate-emulator-assets"


@dataclass(frozen=True, slots=True)
class Deployed:
    """What the stacks answered."""

    api_url: str
    environment: Environment


def deploy(stage: Stage, emulator: Emulator, folder: Path) -> Deployed:
    """Deploy the stage to the emulator; the second time with nothing changed it takes a second."""
    assembly = synthesise(
        stage.name,
        event_bus=stage.event_bus,
        origins=stage.edge.origins,
        otlp=stage.otlp_endpoint,
    )
    _create_assets_bucket(emulator)
    outputs = folder / "outputs.json"
    cdk(
        [
            "deploy",
            "**",  # --all would leave out the stacks inside a CDK stage
            "--app",
            str(assembly),
            "--require-approval",
            "never",
            # The emulator needs no review of a change set, which only doubles the calls.
            "--method",
            "direct",
            "--outputs-file",
            str(outputs),
        ],
        log=folder / "deploy.log",
        variables=emulator.client_variables,
    )
    return _read(stage, emulator, json.loads(outputs.read_text()))


def _create_assets_bucket(emulator: Emulator) -> None:
    """The one thing of ``cdk bootstrap`` that is needed; its stack would take far longer."""
    emulator.client("s3").create_bucket(Bucket=ASSETS_BUCKET)


def _read(stage: Stage, emulator: Emulator, outputs: Mapping[str, Mapping[str, str]]) -> Deployed:
    data, gateway = outputs[f"{stage.prefix}-data"], outputs[f"{stage.prefix}-gateway"]
    return Deployed(
        # The emulator serves every API under its one port; ApiUrl names the real AWS host.
        api_url=f"{emulator.endpoint_url}/_aws/execute-api/{gateway['ApiId']}",
        environment=Environment.read(json.loads(data["Environment"])),
    )
