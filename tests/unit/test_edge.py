"""What a stage may say about its edge, and what it is told when it may not."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from taskgate.edge import Domain, Edge
from taskgate.errors import BadSetting
from taskgate.settings import STAGES, stage

HERE = "arn:aws:acm:eu-central-1:123456789012:certificate/0a1b-2c"
GLOBAL = HERE.replace("eu-central-1", "us-east-1")
DOMAIN = Domain(name="api.example.com", certificate=GLOBAL)
WEB_ACL = "arn:aws:wafv2:us-east-1:123456789012:global/webacl/taskgate/0a1b-2c"


def test_no_stage_has_anything_in_front_of_its_api_unless_it_says_so() -> None:
    assert {one.edge for one in STAGES.values()} == {Edge()}


@pytest.mark.parametrize(
    ("given", "named"),
    [
        ({"name": "API.example.com"}, "domain.name"),
        ({"name": "https://api.example.com"}, "domain.name"),
        ({"certificate": "arn:aws:iam::123456789012:server-certificate/x"}, "domain.certificate"),
        ({"hosted_zone": "Z1"}, "domain.zone_name"),
        ({"hosted_zone": "Z1", "zone_name": "ample.com"}, "domain.zone_name"),
    ],
)
def test_a_domain_that_cannot_be_is_refused_by_field(given: dict[str, str], named: str) -> None:
    with pytest.raises(BadSetting, match=rf"^{named} is .*; it must be "):
        Domain(**{"name": "api.example.com", "certificate": HERE, **given})


@pytest.mark.parametrize(
    ("given", "named"),
    [
        ({"cloudfront": True}, "edge.domain"),
        ({"cloudfront": True, "domain": replace(DOMAIN, certificate=HERE)}, "domain.certificate"),
        ({"web_acl": WEB_ACL}, "edge.web_acl"),
        (
            {
                "web_acl": WEB_ACL.replace("global", "regional"),
                "cloudfront": True,
                "domain": DOMAIN,
            },
            "edge.web_acl",
        ),
        ({"key_versions": ()}, "edge.key_versions"),
        ({"origins": ("http://app.example.com",)}, "edge.origins"),
        ({"origins": ("https://app.example.com/",)}, "edge.origins"),
        ({"origins": ("https://app.example.com", "*")}, "edge.origins"),
        ({"origins": ("null",)}, "edge.origins"),
    ],
)
def test_an_edge_that_cannot_be_is_refused_by_field(given: dict[str, Any], named: str) -> None:
    with pytest.raises(BadSetting, match=rf"^{named} is .*; it must be "):
        Edge(**given)


def test_the_emulator_has_no_domain() -> None:
    with pytest.raises(BadSetting, match=r"^edge\.domain is "):
        replace(stage("local"), edge=Edge(domain=DOMAIN))
