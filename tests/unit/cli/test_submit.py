import base64
import json
from pathlib import Path

from taskgate.testing.fake_gateway import Answer, FakeGateway

ROUTE = "POST /v1/tasks"
ACCEPTED = Answer(202, {"id": "task_1", "state": "queued"})


def sent_input(gateway: FakeGateway) -> object:
    return gateway.asked(ROUTE)[-1].json["input"]


def test_fields_are_json_where_they_are_json_and_text_where_they_are_not(
    gateway: FakeGateway, run
) -> None:
    gateway.answers(ROUTE, ACCEPTED)
    Path("notes.txt").write_text("from a file\n")
    pairs = ["prompt=a red lighthouse", "steps=4", 'label="42"', "nan=NaN", "text=@notes.txt"]
    run("submit", "a", *[word for pair in pairs for word in ("-i", pair)])
    assert sent_input(gateway) == {
        "prompt": "a red lighthouse",
        "steps": 4,
        "label": "42",
        "nan": "NaN",
        "text": "from a file\n",
    }


def test_a_field_wins_over_the_whole_input(gateway: FakeGateway, run) -> None:
    gateway.answers(ROUTE, ACCEPTED)
    Path("input.json").write_text('{"a": 1, "b": 2}')
    run("submit", "x", "--input", "@input.json", "-i", "b=3")
    assert sent_input(gateway) == {"a": 1, "b": 3}


def test_a_pdf_travels_as_base64_and_markdown_as_text(gateway: FakeGateway, run) -> None:
    gateway.answers(ROUTE, ACCEPTED)
    Path("a.pdf").write_bytes(b"%PDF-1.4 \xff")
    run("submit", "embed_document", "--file", "a.pdf")
    assert sent_input(gateway) == {
        "format": "pdf",
        "content_base64": base64.b64encode(b"%PDF-1.4 \xff").decode(),
    }
    Path("a.md").write_text("# Hi")
    run("submit", "embed_document", "--file", "a.md")
    assert sent_input(gateway) == {"format": "markdown", "text": "# Hi"}


def test_the_callers_idempotency_key_and_labels_are_sent(gateway: FakeGateway, run) -> None:
    gateway.answers(ROUTE, Answer(200, {"id": "task_1"}, {"Idempotent-Replayed": "true"}))
    ran = run("submit", "a", "--idempotency-key", "k1", "-m", "run=7", "--priority", "high")
    seen = gateway.asked(ROUTE)[0]
    assert seen.headers["idempotency-key"] == "k1"
    assert seen.json["metadata"] == {"run": "7"}
    assert seen.json["priority"] == "high"
    assert "the key was used before" in ran.stdout


def test_json_is_one_value_on_stdout_and_nothing_else(gateway: FakeGateway, run) -> None:
    gateway.answers(ROUTE, ACCEPTED)
    assert json.loads(run("submit", "a", "--json").stdout) == ACCEPTED.body


def test_waiting_prints_the_id_first_and_the_whole_task_in_the_end(
    gateway: FakeGateway, run, look
) -> None:
    gateway.answers(ROUTE, ACCEPTED)
    gateway.answers("GET /v1/tasks/task_1/status", look("processing"), look("succeeded"))
    gateway.answers("GET /v1/tasks/task_1", look("succeeded", progress=1.0))
    plain = run("submit", "a", "--wait")
    assert plain.stdout.splitlines()[0] == "task_1"
    strict = run("submit", "a", "--wait", "--json")
    assert json.loads(strict.stdout)["state"] == "succeeded"
    assert strict.stderr.strip() == "task_1"


def test_when_the_answer_is_lost_the_advice_is_to_submit_with_the_same_key(
    gateway: FakeGateway, run
) -> None:
    gateway.answers(ROUTE, Answer(lost=True))
    ran = run("submit", "a")
    key = gateway.seen[0].headers["idempotency-key"]
    assert ran.code == 5
    assert f"--idempotency-key {key}" in ran.stderr
