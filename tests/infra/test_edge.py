"""CloudFront, a domain and browsers' origins, each by setting; nothing of them without."""

from __future__ import annotations

import json

import pytest

from cdk_app import cors, edge, report
from cdk_app.bundle import ROOT
from functions.http import door
from taskgate.edge import Domain, Edge
from taskgate.routes import ROUTES
from tests.infra.conftest import Template

ORIGINS = ("https://app.example.com", "http://localhost:5173")
DOMAIN = Domain(
    name="api.example.com",
    certificate="arn:aws:acm:us-east-1:123456789012:certificate/0a1b-2c",
    hosted_zone="Z0123456789",
    zone_name="example.com",
)
WEB_ACL = "arn:aws:wafv2:us-east-1:123456789012:global/webacl/taskgate/0a1b-2c"
FRONT = Edge(domain=DOMAIN, cloudfront=True, web_acl=WEB_ACL, key_versions=(2, 1), origins=ORIGINS)
OPENAPI = ROOT / "docs" / "reference" / "openapi.json"
SHOWN_ANYWAY = {"Cache-Control"}
"""What browsers show a page of another origin without being told to."""
CACHING_DISABLED = "4135ea2d-6df8-44a3-9df3-4b5a84be39ad"
ALL_VIEWER_EXCEPT_HOST = "b689b0a8-53d0-40ab-baf2-68738e2966ac"


@pytest.fixture(scope="session")
def edged(deployments):
    """Data and gateway templates of prod with an edge."""

    def made(chosen):
        deployment = deployments("prod", edge=chosen)
        return Template(deployment.data), Template(deployment.gateway)

    return made


@pytest.fixture
def front(edged):
    return edged(FRONT)[1]


def test_without_a_setting_there_is_no_edge_and_no_origin_may_ask(gateway, data):
    assert not gateway.of_type("AWS::CloudFront::Distribution")
    assert not gateway.of_type("AWS::SecretsManager::Secret")
    [api] = gateway.properties("AWS::ApiGatewayV2::Api")
    assert "CorsConfiguration" not in api
    assert "DisableExecuteApiEndpoint" not in api
    assert "CorsConfiguration" not in data.properties("AWS::S3::Bucket")[0]
    assert edge.VARIABLE not in json.dumps(gateway.body)


def test_cloudfront_takes_tls_1_2_http_3_and_every_method_and_shows_each_request_to_the_waf(front):
    [made] = front.properties("AWS::CloudFront::Distribution")
    config = made["DistributionConfig"]
    assert config["ViewerCertificate"]["MinimumProtocolVersion"] == "TLSv1.2_2021"
    assert (config["HttpVersion"], config["WebACLId"]) == ("http2and3", WEB_ACL)
    assert config["Aliases"] == ["api.example.com"]
    assert config["Logging"]["IncludeCookies"] is False
    assert config["DefaultCacheBehavior"]["ViewerProtocolPolicy"] == "https-only"
    assert "PATCH" in config["DefaultCacheBehavior"]["AllowedMethods"]


def test_no_answer_is_kept_for_anybody_so_none_crosses_tenants(front):
    [made] = front.properties("AWS::CloudFront::Distribution")
    config = made["DistributionConfig"]
    assert config["DefaultCacheBehavior"]["CachePolicyId"] == CACHING_DISABLED
    assert not config.get("CacheBehaviors")
    assert not front.of_type("AWS::CloudFront::CachePolicy")


def test_authorization_prefer_and_the_query_reach_the_api(front):
    [made] = front.properties("AWS::CloudFront::Distribution")
    behavior = made["DistributionConfig"]["DefaultCacheBehavior"]
    assert behavior["OriginRequestPolicyId"] == ALL_VIEWER_EXCEPT_HOST


def test_the_api_is_closed_to_all_who_do_not_come_by_cloudfront(front, resolve):
    assert (edge.HEADER, edge.VARIABLE) == (door.HEADER, door.VARIABLE)
    [made] = front.properties("AWS::CloudFront::Distribution")
    [origin] = made["DistributionConfig"]["Origins"]
    assert origin["CustomOriginConfig"]["OriginProtocolPolicy"] == "https-only"
    [header] = origin["OriginCustomHeaders"]
    sent = resolve(header["HeaderValue"])
    assert header["HeaderName"] == edge.HEADER
    assert sent.startswith("{{resolve:secretsmanager:")
    taken = {
        f["Handler"].split(".")[1]: resolve(f["Environment"]["Variables"].get(edge.VARIABLE, ""))
        for f in front.properties("AWS::Lambda::Function")
    }
    keys = taken["api"].split(",")
    assert (keys[0], len(keys), taken["admin"]) == (sent, 2, taken["api"])
    assert {room for room, text in taken.items() if text} == {"api", "admin"}


def test_the_rooms_know_a_new_key_before_cloudfront_sends_it(front):
    [made] = front.of_type("AWS::CloudFront::Distribution").values()
    rooms = {
        name
        for name, f in front.of_type("AWS::Lambda::Function").items()
        if edge.VARIABLE in f["Properties"]["Environment"]["Variables"]
    }
    assert rooms <= set(made["DependsOn"])


def test_the_domain_has_its_records_and_the_output_names_it(front):
    records = front.properties("AWS::Route53::RecordSet")
    assert {(r["Name"], r["Type"]) for r in records} == {
        ("api.example.com.", "A"),
        ("api.example.com.", "AAAA"),
    }
    assert front.body["Outputs"]["ApiUrl"]["Value"] == "https://api.example.com/"


def test_a_domain_without_cloudfront_is_the_apis_own_and_its_aws_address_is_closed(edged):
    elsewhere = Domain(name="api.example.com", certificate=DOMAIN.certificate)
    gateway = edged(Edge(domain=elsewhere))[1]
    [api] = gateway.properties("AWS::ApiGatewayV2::Api")
    assert api["DisableExecuteApiEndpoint"] is True
    [name] = gateway.properties("AWS::ApiGatewayV2::DomainName")
    assert name["DomainNameConfigurations"][0]["SecurityPolicy"] == "TLS_1_2"
    assert len(gateway.of_type("AWS::ApiGatewayV2::ApiMapping")) == 1
    assert not gateway.of_type("AWS::Route53::RecordSet")
    assert not gateway.of_type("AWS::CloudFront::Distribution")


def test_pages_of_the_origins_may_ask_the_api_and_the_bucket(edged):
    data, gateway = edged(FRONT)
    [api] = gateway.properties("AWS::ApiGatewayV2::Api")
    told = api["CorsConfiguration"]
    assert told["AllowOrigins"] == list(ORIGINS)
    assert not told.get("AllowCredentials")
    [rule] = data.properties("AWS::S3::Bucket")[0]["CorsConfiguration"]["CorsRules"]
    assert rule["AllowedOrigins"] == list(ORIGINS)
    assert set(rule["AllowedMethods"]) == {"GET", "HEAD", "POST"}


def test_a_page_may_send_every_header_that_the_api_reads_and_read_every_one_that_it_sends(edged):
    [api] = edged(FRONT)[1].properties("AWS::ApiGatewayV2::Api")
    told, document = api["CorsConfiguration"], json.loads(OPENAPI.read_text())
    calls = [call for path in document["paths"].values() for call in path.values()]
    read = {p["name"] for call in calls for p in call.get("parameters", ()) if p["in"] == "header"}
    assert {"Idempotency-Key", "Prefer", "If-None-Match", "traceparent"} <= read
    # Neither of these is a parameter of the document: its security and its bodies imply them.
    assert set(told["AllowHeaders"]) == read | {"Authorization", "Content-Type"}
    sent = {
        name for call in calls for answer in call["responses"].values() for name in _sent(answer)
    }
    assert {"ETag", "Retry-After", "Location", "traceresponse"} <= sent
    assert set(told["ExposeHeaders"]) == sent - SHOWN_ANYWAY
    assert set(told["AllowMethods"]) == {route.method for route in ROUTES}


def _sent(answer):
    """Headers of one answer of the document; a shared one is named by its reference."""
    if "$ref" in answer:
        answer = json.loads(OPENAPI.read_text())["components"]["responses"][
            answer["$ref"].rpartition("/")[2]
        ]
    return answer.get("headers", {})


def test_a_preflight_needs_no_key_since_no_route_of_ours_answers_it(edged):
    routes = edged(FRONT)[1].properties("AWS::ApiGatewayV2::Route")
    assert not [r for r in routes if r["RouteKey"].startswith(("OPTIONS", "ANY", "$default"))]
    assert cors.of_api(()) is None


def test_the_linter_finds_nothing_in_an_edge_with_cloudfront_or_with_a_domain_alone(
    edged, tmp_path
):
    paths = []
    for chosen, kind in ((FRONT, "cloudfront"), (Edge(domain=DOMAIN), "domain")):
        for name, template in zip(("data", "gateway"), edged(chosen), strict=True):
            paths.append(tmp_path / f"{kind}-{name}.template.json")
            paths[-1].write_text(json.dumps(template.body))
    assert report.lint(paths) == ""
