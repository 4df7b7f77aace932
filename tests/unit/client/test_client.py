import pytest

from taskgate.client import (
    Misunderstood,
    NotConfigured,
    NotFound,
    Refused,
    Taskgate,
    Unsendable,
)
from taskgate.testing.fake_gateway import Answer, FakeGateway


def test_address_and_key_come_from_the_environment(
    gateway: FakeGateway, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TASKGATE_URL", gateway.url + "/")
    monkeypatch.setenv("TASKGATE_API_KEY", "tg_env")
    gateway.answers("GET /v1/stats", Answer(body={"submitted": 1, "succeeded": 1}))
    with Taskgate() as client:
        assert client.stats().balanced
    assert gateway.seen[0].headers["authorization"] == "Bearer tg_env"


@pytest.mark.parametrize("url", ["", "localhost:80", "ftp://x", "http://", "/v1"])
def test_an_address_that_is_none_is_refused_before_any_call(
    url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("TASKGATE_URL", raising=False)
    with pytest.raises(NotConfigured):
        Taskgate(url, "key")


def test_a_missing_key_names_the_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TASKGATE_API_KEY", raising=False)
    with pytest.raises(NotConfigured, match="TASKGATE_API_KEY"):
        Taskgate("http://127.0.0.1:1")


def test_a_loopback_gateway_is_never_asked_through_a_proxy(
    gateway: FakeGateway, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    gateway.answers("GET /v1/stats", Answer(body={}))
    with Taskgate(gateway.url, "key") as client:
        assert client.stats().submitted == 0


def test_a_list_goes_through_all_pages_and_only_as_far_as_it_is_read(
    gateway: FakeGateway, client: Taskgate
) -> None:
    first = Answer(body={"tasks": [{"id": "task_3"}, {"id": "task_2"}], "next_cursor": "c1"})
    last = Answer(body={"tasks": [{"id": "task_1"}], "next_cursor": None})
    gateway.answers("GET /v1/tasks", first, last)
    tasks = client.list(page_size=2)
    assert [next(tasks).id, next(tasks).id] == ["task_3", "task_2"]
    assert len(gateway.seen) == 1
    assert [task.id for task in tasks] == ["task_1"]
    assert gateway.seen[1].query == {"limit": "2", "cursor": "c1"}


def test_an_unknown_task_is_not_found(gateway: FakeGateway, client: Taskgate) -> None:
    with pytest.raises(NotFound) as missing:
        client.get("task_9")
    assert missing.value.code == "task_not_found"


def test_a_task_past_its_retention_is_not_found_either(
    gateway: FakeGateway, client: Taskgate
) -> None:
    gateway.answers("GET /v1/tasks/task_1", Answer(410, {"code": "gone"}))
    with pytest.raises(NotFound):
        client.get("task_1")


def test_an_answer_that_is_no_problem_document_still_makes_an_error_with_its_status(
    gateway: FakeGateway, client: Taskgate
) -> None:
    gateway.answers("GET /v1/tasks/task_1", Answer(403, b"<html>"))
    with pytest.raises(Refused, match=r"http://127\.0\.0\.1:\d+ answered HTTP 403") as refused:
        client.get("task_1")
    assert (refused.value.status, refused.value.code) == (403, "http_403")


@pytest.mark.parametrize(
    "body",
    [
        {"code": "x", "errors": "boom"},
        {"code": 7, "errors": [None, 1, {"field": "a"}]},
        {"errors": {"a": 1}},
        b"[" * 100_000,
        b"\xff\xfe",
        [],
        None,
    ],
    ids=str,
)
def test_a_problem_of_any_form_makes_an_error_of_the_tree(
    gateway: FakeGateway, client: Taskgate, body: object
) -> None:
    gateway.answers("GET /v1/stats", Answer(400, body))
    with pytest.raises(Refused) as refused:
        client.stats()
    assert refused.value.status == 400


@pytest.mark.parametrize("answer", [Answer(404, {"message": "Not Found"}), Answer(404, b"<html>")])
def test_a_404_that_is_not_the_gateways_is_about_the_address_and_not_the_task(
    gateway: FakeGateway, client: Taskgate, answer: Answer
) -> None:
    gateway.answers("GET /v1/tasks/task_1", answer)
    with pytest.raises(Misunderstood, match=r"has nothing at /v1/tasks/task_1 \(HTTP 404\)"):
        client.get("task_1")


def test_an_error_says_each_field_and_what_the_operators_find_it_by(
    gateway: FakeGateway, client: Taskgate
) -> None:
    wrong = [{"field": "input.steps", "message": "must be at most 200"}]
    said = {
        "code": "invalid_input",
        "detail": "It does not fit.",
        "errors": wrong,
        "instance": "r7",
    }
    gateway.answers("POST /v1/tasks", Answer(422, said))
    with pytest.raises(Refused) as refused:
        client.submit("a", {})
    assert str(refused.value) == "It does not fit. input.steps: must be at most 200"
    assert refused.value.request_id == "r7"


def test_an_address_with_what_no_address_has_is_refused_without_repeating_a_secret() -> None:
    for url in ("http://h?x=1", "http://h#x", "http://ada:s3cret@h"):
        with pytest.raises(NotConfigured) as refused:
            Taskgate(url, "key")
        assert "s3cret" not in str(refused.value)


def test_blanks_around_address_and_key_do_not_count(gateway: FakeGateway) -> None:
    gateway.answers("GET /v1/stats", Answer(body={}))
    with Taskgate(f" {gateway.url}/\n", "tg_key\n") as client:
        client.stats()
    assert gateway.seen[0].headers["authorization"] == "Bearer tg_key"


def test_a_key_with_the_word_bearer_is_told_to_be_passed_without() -> None:
    with pytest.raises(NotConfigured, match="without that word"):
        Taskgate("http://127.0.0.1:1", "Bearer tg_key")


@pytest.mark.parametrize("task_id", ["", " "])
def test_an_empty_id_is_refused_before_anything_is_sent(
    gateway: FakeGateway, client: Taskgate, task_id: str
) -> None:
    for ask in (client.get, client.cancel, client.result):
        with pytest.raises(Unsendable, match="id is empty"):
            ask(task_id)
    assert gateway.seen == []


@pytest.mark.parametrize("wrong", ["text", [1], None, 7])
def test_an_input_that_has_no_fields_is_refused_before_anything_is_sent(
    gateway: FakeGateway, client: Taskgate, wrong: object
) -> None:
    with pytest.raises(Unsendable, match="mapping of its fields"):
        client.submit("a", wrong)  # type: ignore[arg-type]
    assert gateway.seen == []


@pytest.mark.parametrize("span", [float("nan"), float("inf")])
def test_a_span_that_is_none_is_refused_before_anything_is_sent(
    gateway: FakeGateway, client: Taskgate, span: float
) -> None:
    with pytest.raises(Unsendable, match="no span of time"):
        client.submit("a", {}, delay=span)
    assert gateway.seen == []


def test_times_are_aware_and_history_is_read(gateway: FakeGateway, client: Taskgate) -> None:
    entry = {"at": "2026-01-02T03:04:05.678Z", "verb": "claim", "from": "queued"}
    gateway.answers(
        "GET /v1/tasks/task_1",
        Answer(body={"id": "task_1", "created_at": "nonsense", "history": [entry]}),
    )
    task = client.get("task_1")
    assert task.created_at is None
    assert task.history[0].at is not None
    assert task.history[0].at.isoformat() == "2026-01-02T03:04:05.678000+00:00"
    assert task.history[0].before == "queued"


@pytest.mark.parametrize(
    "answer",
    [Answer(body=b"<html>hello</html>"), Answer(body=[1]), Answer(body={"no": "id"}), Answer(301)],
)
def test_an_answer_of_another_server_is_told_from_one_of_the_gateway(
    gateway: FakeGateway, client: Taskgate, answer: Answer
) -> None:
    gateway.answers("GET /v1/tasks/task_1", answer)
    gateway.answers("GET /v1/tasks", answer)
    with pytest.raises(Misunderstood, match=r"127\.0\.0\.1"):
        client.get("task_1")
    with pytest.raises(Misunderstood):
        list(client.list())


@pytest.mark.parametrize("value", [float("nan"), "\ud800", object(), {1, 2}])
def test_what_json_cannot_say_is_refused_before_anything_is_sent(
    gateway: FakeGateway, client: Taskgate, value: object
) -> None:
    with pytest.raises(Unsendable):
        client.submit("a", {"x": value})
    assert gateway.seen == []


@pytest.mark.parametrize("key", ["tg_ key", "tg_\nkey", "tg_ké"])
def test_a_key_that_no_header_can_carry_is_refused_without_repeating_it(key: str) -> None:
    with pytest.raises(NotConfigured) as refused:
        Taskgate("http://127.0.0.1:1", key)
    assert key.strip() not in str(refused.value)


def test_an_idempotency_key_that_no_header_can_carry_is_refused_before_anything_is_sent(
    gateway: FakeGateway, client: Taskgate
) -> None:
    for key in ("a\nb", "clé"):
        with pytest.raises(Unsendable):
            client.submit("a", {}, idempotency_key=key)
    assert gateway.seen == []


def test_an_id_from_elsewhere_cannot_lead_to_another_route(
    gateway: FakeGateway, client: Taskgate
) -> None:
    with pytest.raises(NotFound):
        client.get("../stats?x=")
    assert gateway.seen[0].route == "GET /v1/tasks/..%2Fstats%3Fx%3D"
