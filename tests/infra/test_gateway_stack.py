from __future__ import annotations

import json
import re
from collections import defaultdict

import pytest

from cdk_app import target
from taskgate.routes import ROUTES
from taskgate.settings import STAGES, Environment, stage

FUNCTION, ROUTE = "AWS::Lambda::Function", "AWS::ApiGatewayV2::Route"


def routes(template):
    return {
        properties["RouteKey"]: properties["AuthorizationType"]
        for properties in template.properties(ROUTE)
    }


def function(template, room):
    [found] = [
        properties
        for properties in template.properties(FUNCTION)
        if properties["Handler"] == f"functions.{room}.handler.handler"
    ]
    return found


def rule_of(template, name):
    rules = template.properties("AWS::Events::Rule")
    [found] = [rule for rule in rules if rule["Name"].endswith(f"-{name}")]
    return found


def statements(template, resolve):
    return [
        resolve(statement)
        for policy in template.properties("AWS::IAM::Policy")
        for statement in policy["PolicyDocument"]["Statement"]
    ]


def listed(value):
    return value if isinstance(value, list) else [value]


def test_the_api_has_exactly_the_routes_that_it_serves_and_no_catch_all(gateway):
    assert set(routes(gateway)) == {f"{route.method} {route.path}" for route in ROUTES}


def test_every_route_that_is_not_public_demands_a_key(gateway):
    assert routes(gateway) == {
        f"{route.method} {route.path}": "NONE" if route.public else "CUSTOM" for route in ROUTES
    }


def test_the_authorizer_is_asked_once_a_minute_for_a_key_and_never_without_one(gateway):
    [authorizer] = gateway.properties("AWS::ApiGatewayV2::Authorizer")
    assert authorizer["IdentitySource"] == ["$request.header.Authorization"]
    assert authorizer["AuthorizerResultTtlInSeconds"] == stage("prod").key_cache == 60
    assert authorizer["EnableSimpleResponses"] is True
    assert authorizer["AuthorizerPayloadFormatVersion"] == "2.0"


def test_every_function_has_a_role_and_a_log_group_of_its_own(gateway):
    functions = gateway.properties(FUNCTION)
    roles = {f["Role"]["Fn::GetAtt"][0] for f in functions}
    log_groups = {f["LoggingConfig"]["LogGroup"]["Ref"] for f in functions}
    assert len(roles) == len(log_groups) == len(functions)
    assert roles == set(gateway.of_type("AWS::IAM::Role"))
    assert log_groups < set(gateway.of_type("AWS::Logs::LogGroup"))


def test_every_log_is_forgotten_after_the_days_of_the_stage(gateway):
    days = {group["RetentionInDays"] for group in gateway.properties("AWS::Logs::LogGroup")}
    assert days == {stage("prod").log_days}


def test_nothing_is_deployed_but_what_is_ours_to_see(gateway, data):
    # No custom resource, and so no function that CDK slips in beside the reviewed ones.
    kinds = {r["Type"] for t in (gateway, data) for r in t.body["Resources"].values()}
    assert not [kind for kind in kinds if kind.startswith(("Custom::", "AWS::CloudFormation::"))]
    assert {f["Handler"] for f in gateway.properties(FUNCTION)} == {
        f"functions.{room}.handler.handler"
        for room in (
            "admin",
            "api",
            "authorizer",
            "dead_letter",
            "outbox_callback",
            "reconcile",
            "stale_sweep",
        )
    }


def test_no_role_may_do_everything_or_touch_everything(gateway, resolve):
    for statement in statements(gateway, resolve):
        assert statement["Effect"] == "Allow"
        for action in listed(statement["Action"]):
            assert "*" not in action
        if statement["Action"] == "dynamodb:ListStreams":
            continue  # it takes no resource, and Lambda asks for it before it reads a stream
        for resource in listed(statement["Resource"]):
            # Results, uploads and dead letters under their prefixes.
            prefix = re.sub(r"/(r|in|dead)/\*$", "", resource)
            assert "*" not in prefix
            assert "index/" not in resource or resource.endswith(
                ("by_user", "by_clock", "by_problem")
            )
    assert not [r for r in gateway.properties("AWS::IAM::Role") if "ManagedPolicyArns" in r]


def leading_keys(template, resolve, function_id):
    """The partition keys that a function's statements are held to."""
    return {
        tuple(keys)
        for name, policy in template.of_type("AWS::IAM::Policy").items()
        if name.startswith(function_id)
        for statement in map(resolve, policy["Properties"]["PolicyDocument"]["Statement"])
        for condition in statement.get("Condition", {}).values()
        for keys in [condition.get("dynamodb:LeadingKeys", [])]
    }


def test_the_authorizer_may_read_keys_and_plans_and_nothing_else(gateway, resolve):
    assert leading_keys(gateway, resolve, "Authorizer") == {("KEY#*", "PLAN#*")}


def test_the_admin_room_changes_no_task_and_keeps_keys_plans_bulk_acts_and_switches(
    gateway, resolve
):
    found = [
        (tuple(listed(statement["Action"])), operator, condition["dynamodb:LeadingKeys"])
        for name, policy in gateway.of_type("AWS::IAM::Policy").items()
        if name.startswith("AdminFunction")
        for statement in map(resolve, policy["Properties"]["PolicyDocument"]["Statement"])
        for operator, condition in statement.get("Condition", {}).items()
    ]
    leading = defaultdict(list)
    for actions, like, keys in found:
        leading[actions] += listed(keys) if like.endswith(":StringLike") else []
    unlike = {actions: keys for actions, like, keys in found if like.endswith(":StringNotLike")}
    assert leading["dynamodb:BatchGetItem",] == ["TASK#*", "PULSE#*"]
    kept = leading["dynamodb:GetItem", "dynamodb:PutItem"]
    assert kept == ["KEY#*", "PLAN#*", "BULK#*", "SWITCHES"]
    assert sorted(leading["dynamodb:Query",]) == ["#bulks", "#keys", "#plans", "LEDGER#*"]
    assert listed(unlike["dynamodb:Query",]) == ["#*"]


def test_every_other_function_has_no_business_with_keys_and_plans(gateway, resolve):
    for function_id in ("ApiFunction", "DeadLetters", "Outbox", "Reconcile", "StaleSweep"):
        allowed = {key for keys in leading_keys(gateway, resolve, function_id) for key in keys}
        assert allowed
        assert not allowed & {"*", "KEY#*", "PLAN#*"}


@pytest.mark.parametrize("name", STAGES)
def test_the_sweep_runs_as_often_as_the_promise_counts_on(synthesise, name):
    data, gateway = synthesise(name)
    timing = stage(name).timing
    rule = rule_of(gateway, "stale-sweep")
    assert rule["ScheduleExpression"] == "rate(1 minute)"
    leases = {
        q["VisibilityTimeout"]
        for q in data.properties("AWS::SQS::Queue")
        if "RedrivePolicy" in q and not q["QueueName"].endswith("-errands")
    }
    assert max(leases) + 60 < timing.detected_within
    assert rule.get("State", "ENABLED") == "ENABLED"


def test_a_sweep_ends_before_the_next_one_and_is_not_tried_again(gateway):
    assert function(gateway, "stale_sweep")["Timeout"] < 60
    [config] = [
        resource["Properties"]
        for name, resource in gateway.of_type("AWS::Lambda::EventInvokeConfig").items()
        if name.startswith("StaleSweep")
    ]
    assert (config["MaximumRetryAttempts"], config["MaximumEventAgeInSeconds"]) == (0, 60)


def test_the_api_answers_before_the_gateway_gives_up_on_it(gateway):
    assert function(gateway, "api")["Timeout"] < 30
    assert function(gateway, "admin")["Timeout"] < 30
    assert function(gateway, "authorizer")["Timeout"] <= 10


@pytest.mark.parametrize("name", STAGES)
def test_every_function_can_read_the_environment_that_its_stack_writes(synthesise, resolve, name):
    _, gateway = synthesise(name)
    settings = stage(name)
    for properties in gateway.properties(FUNCTION):
        environment = Environment.read(resolve(properties["Environment"]["Variables"]))
        assert environment.labels == settings.labels
        assert (environment.beat, environment.lease) == (
            settings.timing.beat,
            settings.timing.lease,
        )
        assert all(url.startswith("<") for url in environment.lanes.values())


def test_workers_are_told_the_same_as_functions(data, gateway, resolve):
    told = json.loads(resolve(data.body["Outputs"]["Environment"]["Value"]))
    assert (
        Environment.read(told).lanes.keys()
        == Environment.read(
            resolve(function(gateway, "api")["Environment"]["Variables"])
        ).lanes.keys()
    )


def test_functions_run_on_the_python_and_processor_that_the_bundle_is_built_for(gateway):
    for properties in gateway.properties(FUNCTION):
        assert properties["Runtime"] == f"python{target.LAMBDA.python}"
        assert properties["Architectures"] == ["arm64"]


def test_all_functions_share_one_bundle(gateway):
    assert len({json.dumps(f["Code"], sort_keys=True) for f in gateway.properties(FUNCTION)}) == 1


def test_every_request_leaves_a_json_line_and_a_flood_is_turned_away(gateway):
    [http_stage] = gateway.properties("AWS::ApiGatewayV2::Stage")
    assert {"request_id", "route", "status", "tenant"} <= set(
        json.loads(http_stage["AccessLogSettings"]["Format"])
    )
    limits = http_stage["DefaultRouteSettings"]
    assert limits == {"ThrottlingRateLimit": 1000, "ThrottlingBurstLimit": 2000}


NAMES = {
    "AWS::ApiGatewayV2::Api": "Name",
    "AWS::DynamoDB::Table": "TableName",
    "AWS::Events::Rule": "Name",
    "AWS::Lambda::Function": "FunctionName",
    "AWS::Logs::LogGroup": "LogGroupName",
    "AWS::S3::Bucket": "BucketName",
    "AWS::SQS::Queue": "QueueName",
}


def test_two_stages_in_one_account_share_no_name(synthesise, resolve):
    for name in STAGES:
        for template in synthesise(name):
            for kind, key in NAMES.items():
                names = [resolve(properties[key]) for properties in template.properties(kind)]
                assert all(stage(name).prefix in found for found in names)


RIGHTS = {
    "AdminFunction": {
        "tasks": ["BatchGetItem", "GetItem", "PutItem", "Query", "UpdateItem"],
        "reconcile": ["InvokeFunction"],
        "tasks/index/by_user": ["Query"],
        "tasks/index/by_clock": ["Query"],
        "tasks/index/by_problem": ["Query"],
        "ephemeral": ["BatchGetItem", "Scan"],
        "webhook master": ["GetSecretValue"],
    },
    "ApiFunction": {
        "tasks": ["BatchGetItem", "GetItem", "PutItem", "Query", "UpdateItem"],
        "tasks/index/by_user": ["Query"],
        "ephemeral": ["BatchGetItem", "ConditionCheckItem", "GetItem", "UpdateItem"],
        "lanes": ["GetQueueAttributes", "SendMessage"],
        "results": ["GetObject", "PutObject"],
        "uploads": ["GetObject", "PutObject"],
        "webhook master": ["GetSecretValue"],
    },
    "Authorizer": {"tasks": ["GetItem"]},
    "StaleSweep": {
        "tasks": ["BatchGetItem", "GetItem", "PutItem", "UpdateItem"],
        "tasks/index/by_clock": ["Query"],
        "tasks/index/by_problem": ["Query"],
        "tasks/index/by_user": ["Query"],
        "ephemeral": ["BatchGetItem", "ConditionCheckItem", "UpdateItem"],
        "lanes": ["GetQueueAttributes", "SendMessage"],
        "errands": ["SendMessage"],
    },
    "DeadLetters": {
        "tasks": ["GetItem", "UpdateItem"],
        "lanes": ["SendMessage"],
        "dead letters": ["DeleteMessage", "GetQueueAttributes", "ReceiveMessage"],
        "kept": ["PutObject"],
    },
    "Outbox": {
        "tasks": ["BatchGetItem", "GetItem", "PutItem", "UpdateItem"],
        "tasks/index/by_clock": ["Query"],
        "tasks/stream": ["DescribeStream", "GetRecords", "GetShardIterator"],
        "every stream": ["ListStreams"],
        "ephemeral": ["BatchGetItem", "GetItem", "UpdateItem"],
        "lanes": ["SendMessage"],
        "errands": ["DeleteMessage", "GetQueueAttributes", "ReceiveMessage", "SendMessage"],
        "results": ["DeleteObject"],
        "bucket": ["ListBucket"],
        "webhook master": ["GetSecretValue"],
    },
    "Reconcile": {"tasks": ["GetItem", "Scan", "UpdateItem"]},
}


@pytest.mark.parametrize("function_id", RIGHTS)
def test_each_function_has_exactly_the_rights_that_its_work_needs(gateway, resolve, function_id):
    """A right that is missing fails in the end-to-end tests; one too many fails here."""
    [policy] = [
        resource["Properties"]
        for name, resource in gateway.of_type("AWS::IAM::Policy").items()
        if name.startswith(function_id)
    ]
    found = defaultdict(set)
    for statement in policy["PolicyDocument"]["Statement"]:
        for resource in map(resolve, listed(statement["Resource"])):
            found[kind_of(resource)] |= {a.split(":")[1] for a in listed(statement["Action"])}
    own_log = {"log": ["CreateLogStream", "PutLogEvents"]}
    assert {kind: sorted(actions) for kind, actions in found.items()} == {
        **RIGHTS[function_id],
        **own_log,
    }


KINDS = (
    (lambda arn: arn == "*", "every stream"),
    (lambda arn: "webhook-master" in arn, "webhook master"),
    (lambda arn: "Reconcile" in arn and "Logs" not in arn, "reconcile"),
    (lambda arn: "StreamArn" in arn, "tasks/stream"),
    (lambda arn: "Errands" in arn, "errands"),
    (lambda arn: "Lanes" in arn and "dead" in arn, "dead letters"),
    (lambda arn: "Lanes" in arn, "lanes"),
    (lambda arn: arn.endswith("/dead/*"), "kept"),
    (lambda arn: "-results-" in arn and arn.endswith("/r/*"), "results"),
    (lambda arn: "-results-" in arn and arn.endswith("/in/*"), "uploads"),
    (lambda arn: "Results" in arn, "bucket"),
    (lambda arn: "Logs" in arn, "log"),
)
"""What a resolved ARN stands for; the first that fits."""


def kind_of(resource: str) -> str:
    """A resolved ARN in the words of `RIGHTS`; a table's with what stands behind it."""
    for export, kind in {"TasksTable": "tasks", "EphemeralTable": "ephemeral"}.items():
        if export in resource and "StreamArn" not in resource:
            return kind + resource.partition(">")[2]
    return next((kind for fits, kind in KINDS if fits(resource)), resource)
