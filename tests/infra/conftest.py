"""The stacks, synthesised once a session for each stage, and plain readers of their templates."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from typing import Any

import pytest

from cdk_app.bundle import ROOT, Bundle
from cdk_app.cli import NODE
from taskgate.settings import stage

# jsii starts Node as soon as aws_cdk is imported, so this comes before, and those imports late.
os.environ["JSII_NODE"] = str(NODE)


@pytest.hookimpl(tryfirst=True)  # before xdist looks at the groups
def pytest_collection_modifyitems(items):
    """One worker for all that reads templates: each other one would start jsii and synthesise."""
    for item in items:
        if "deployments" in item.fixturenames:
            item.add_marker(pytest.mark.xdist_group("templates"))


class Template:
    """A template as plain data, and its resources by type."""

    def __init__(self, stack):
        from aws_cdk.assertions import Template as CdkTemplate  # noqa: PLC0415

        self.body = CdkTemplate.from_stack(stack).to_json()
        self.terminates = not stack.termination_protection

    def of_type(self, kind: str) -> dict[str, dict]:
        """Resources of one type by logical id, whole, with policies and dependencies."""
        return {k: r for k, r in self.body["Resources"].items() if r["Type"] == kind}

    def properties(self, kind: str) -> list[dict]:
        """The properties of every resource of one type."""
        return [resource.get("Properties", {}) for resource in self.of_type(kind).values()]


@pytest.fixture(scope="session")
def deployments(tmp_path_factory) -> Callable[[str], Any]:
    """The deployment of a stage, some of its settings changed; a stand-in for the bundle's bytes."""
    folder = tmp_path_factory.mktemp("bundle")
    (folder / "stand_in.py").write_text("")

    @cache
    def deployed(stage_name: str, **settings: Any) -> Any:
        import aws_cdk as cdk  # noqa: PLC0415

        from cdk_app.deployment import Deployment  # noqa: PLC0415

        app = cdk.App(context=json.loads((ROOT / "cdk.json").read_text())["context"])
        bundle = Bundle(folder, "0" * 64)
        chosen = replace(stage(stage_name), **settings)
        return Deployment(app, "taskgate", stage=chosen, bundle=bundle)

    return deployed


@pytest.fixture(scope="session")
def synthesise(deployments) -> Callable[[str], tuple[Template, Template]]:
    """Data and gateway templates of a stage."""

    @cache
    def synthesise(stage_name: str) -> tuple[Template, Template]:
        deployment = deployments(stage_name)
        return Template(deployment.data), Template(deployment.gateway)

    return synthesise


@pytest.fixture(scope="session")
def observed(deployments) -> Callable[[str], Template]:
    """The observability template of a stage."""
    return cache(lambda stage_name: Template(deployments(stage_name).observability))


@pytest.fixture(scope="session")
def workers_of(deployments) -> Callable[..., Template]:
    """The workers' template of a stage, some of its settings changed."""
    return cache(
        lambda stage_name, **settings: Template(deployments(stage_name, **settings).workers)
    )


@pytest.fixture(scope="session")
def data(synthesise) -> Template:
    """The data stack of prod."""
    return synthesise("prod")[0]


@pytest.fixture(scope="session")
def gateway(synthesise) -> Template:
    """The gateway stack of prod."""
    return synthesise("prod")[1]


def _resolve(value):
    """A stand-in for CloudFormation: intrinsic functions become readable text."""
    match value:
        case {"Ref": name} | {"Fn::ImportValue": name}:
            return f"<{_resolve(name)}>"
        case {"Fn::GetAtt": [name, attribute]}:
            return f"<{name}.{attribute}>"
        case {"Fn::Join": [separator, parts]}:
            return separator.join(map(_resolve, parts))
        case dict():
            return {key: _resolve(part) for key, part in value.items()}
        case list():
            return list(map(_resolve, value))
        case _:
            return value


@pytest.fixture(scope="session")
def resolve():
    return _resolve
