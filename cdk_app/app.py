"""The CDK app: ``cdk <command> -c stage=<name>`` builds the bundle and the stage's stacks.

``-c worker-image=<name>@sha256:…`` runs that very image of the worker.
``-c event-bus=true`` adds the bus of events, ``-c origins=https://a.example,https://b.example`` lets
their pages ask, ``-c otlp=https://collector.example`` sends it spans, for this time; to keep it, set it on
the stage.
"""

from __future__ import annotations

import os
from dataclasses import replace

import aws_cdk as cdk

from cdk_app import bundle, findings, target
from cdk_app.deployment import Deployment
from taskgate.settings import Stage, stage


def main() -> None:
    """Synthesise the stage that the context names."""
    app = cdk.App()
    chosen = _chosen(app)
    if image := app.node.try_get_context("worker-image"):
        chosen = replace(chosen, workers=replace(chosen.workers, image=image))
    if not chosen.emulator:
        findings.check(app)
    Deployment(
        app,
        f"taskgate-{chosen.name}",
        stage=chosen,
        bundle=bundle.build(target.of(chosen), bundle.extras_of(chosen)),
        env=_environment(chosen),
    )
    app.synth()


def _chosen(app: cdk.App) -> Stage:
    named = stage(app.node.try_get_context("stage") or "local")
    if origins := app.node.try_get_context("origins"):
        named = replace(named, edge=replace(named.edge, origins=tuple(origins.split(","))))
    if collector := app.node.try_get_context("otlp"):
        named = replace(named, otlp_endpoint=collector)
    listened_to = app.node.try_get_context("event-bus") == "true"
    return replace(named, event_bus=True) if listened_to else named


def _environment(chosen: Stage) -> cdk.Environment | None:
    if chosen.emulator:
        return cdk.Environment(account="000000000000", region="us-east-1")
    account, region = (os.environ.get(f"CDK_DEFAULT_{name}") for name in ("ACCOUNT", "REGION"))
    # Without credentials the templates are account-agnostic, so that a synth works offline.
    return cdk.Environment(account=account, region=region) if account and region else None


if __name__ == "__main__":
    main()
