import json
from pathlib import Path

import pytest

from taskgate.testing.fake_gateway import Answer, FakeGateway

ROUTE = "POST /v1/tasks"
ID = "upload_01ARZ3NDEKTSV4RRFFQ69G5FAV"


@pytest.fixture(autouse=True)
def _taken(gateway: FakeGateway) -> None:
    form = {"id": ID, "url": gateway.url + "/bucket", "fields": {"key": "k"}}
    gateway.answers(
        "POST /v1/uploads", Answer(201, {**form, "kept_until": "2026-01-08T00:00:00.000Z"})
    )
    gateway.answers("POST /bucket", Answer(204, b""))
    gateway.answers(ROUTE, Answer(202, {"id": "task_1", "state": "queued"}))


def sent_input(gateway: FakeGateway) -> object:
    return gateway.asked(ROUTE)[-1].json["input"]


def test_an_upload_prints_its_id_alone_and_the_rest_aside(gateway: FakeGateway, run) -> None:
    Path("a.pdf").write_bytes(b"%PDF-1.7")
    ran = run("upload", "a.pdf")
    assert (ran.code, ran.stdout.strip()) == (0, ID)
    assert "kept until 2026-01-08" in ran.stderr
    told = json.loads(run("upload", "a.pdf", "--json").stdout)
    assert (told["id"], told["size"], told["content_type"]) == (ID, 8, "application/pdf")


def test_a_field_may_be_a_file_that_is_uploaded_first(gateway: FakeGateway, run) -> None:
    Path("a=b.pdf").write_bytes(b"%PDF-1.7")
    run("submit", "embed_document", "-i", "format=pdf", "--file", "document=a=b.pdf")
    assert sent_input(gateway) == {"format": "pdf", "document": {"upload": ID}}


def test_a_document_that_is_too_large_for_a_submit_is_uploaded(gateway: FakeGateway, run) -> None:
    Path("a.pdf").write_bytes(b"%PDF" + bytes(70_000))
    run("submit", "embed_document", "--file", "a.pdf")
    assert sent_input(gateway) == {"format": "pdf", "document": {"upload": ID}}
    Path("a.md").write_text("# Hi\n" * 20_000)
    run("submit", "embed_document", "--file", "a.md")
    assert sent_input(gateway) == {"format": "markdown", "document": {"upload": ID}}


@pytest.mark.parametrize("line", ["upload no.pdf", "submit x --file no.pdf", "submit x --file a=b"])
def test_a_file_that_is_not_there_is_wrong_usage_and_nothing_is_asked(
    gateway: FakeGateway, run, line: str
) -> None:
    assert run(*line.split()).code == 2
    assert not gateway.seen


def test_a_bucket_that_refuses_is_exit_4_with_advice(gateway: FakeGateway, run) -> None:
    gateway.answers("POST /bucket", Answer(400, b"EntityTooLarge"))
    Path("a.pdf").write_bytes(b"%PDF-1.7")
    ran = run("upload", "a.pdf")
    assert ran.code == 4
    assert "EntityTooLarge" in ran.stderr
