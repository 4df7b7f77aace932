import hashlib
import json
import re
from pathlib import Path
from typing import Any

import pytest

from taskgate.client import Refused, Taskgate, Unreachable, Unsendable, UploadRefused
from taskgate.testing.fake_gateway import Answer, FakeGateway
from tests.unit.client.conftest import StillClock

ROUTE, BUCKET = "POST /v1/uploads", "POST /bucket"
ID = "upload_01ARZ3NDEKTSV4RRFFQ69G5FAV"
PDF = b"%PDF-1.7\r\n--boundary\r\n\x00\xff"


def form(gateway: FakeGateway, *answers: Answer) -> None:
    body = {
        "id": ID,
        "url": gateway.url + "/bucket",
        "fields": {"key": f"in/acme/ada/{ID}", "policy": "eyJ9", "x-amz-signature": "abc"},
        "expires_at": "2026-01-01T00:15:00.000Z",
        "kept_until": "2026-01-08T00:00:00.000Z",
    }
    gateway.answers(ROUTE, Answer(201, body))
    gateway.answers(BUCKET, *(answers or (Answer(204, b""),)))


def parts(gateway: FakeGateway) -> dict[str, bytes]:
    """The fields of the last form that was posted, in their order."""
    seen = gateway.asked(BUCKET)[-1]
    boundary = seen.headers["content-type"].partition("boundary=")[2].encode()
    found: dict[str, bytes] = {}
    for part in seen.body.split(b"--" + boundary)[1:-1]:
        head, _, content = part.partition(b"\r\n\r\n")
        name = re.search(rb'name="([^"]+)"', head)
        assert name is not None
        found[name[1].decode()] = content.removesuffix(b"\r\n")
    return found


def test_a_file_is_announced_with_its_size_and_digest_and_then_posted(
    gateway: FakeGateway, client: Taskgate, tmp_path: Path
) -> None:
    form(gateway)
    (tmp_path / "a report.pdf").write_bytes(PDF)
    upload = client.upload(tmp_path / "a report.pdf")
    digest = hashlib.sha256(PDF).hexdigest()
    assert gateway.asked(ROUTE)[0].json == {
        "content_type": "application/pdf",
        "bytes": len(PDF),
        "sha256": digest,
        "name": "a report.pdf",
    }
    sent = parts(gateway)
    assert list(sent) == ["key", "policy", "x-amz-signature", "file"]
    assert sent["file"] == PDF
    assert (upload.id, upload.size, upload.sha256) == (ID, len(PDF), digest)
    assert upload.kept_until is not None
    assert upload.ref == {"upload": ID}


def test_the_api_key_does_not_go_to_the_bucket(
    gateway: FakeGateway, client: Taskgate, tmp_path: Path
) -> None:
    form(gateway)
    (tmp_path / "a.md").write_text("# Hi")
    assert client.upload(tmp_path / "a.md").content_type == "text/markdown"
    assert "authorization" not in gateway.asked(BUCKET)[0].headers


def test_bytes_need_a_content_type(gateway: FakeGateway, client: Taskgate) -> None:
    form(gateway)
    with pytest.raises(Unsendable, match="content_type"):
        client.upload(PDF)
    assert client.upload(PDF, content_type="application/pdf").size == len(PDF)
    assert "name" not in gateway.asked(ROUTE)[0].json


def test_a_whole_input_is_uploaded_as_json_and_referred_to(
    gateway: FakeGateway, client: Taskgate
) -> None:
    form(gateway)
    given: dict[str, Any] = {"text": "é" * 1000, "dimensions": 64}
    upload = client.upload_input(given)
    assert json.loads(parts(gateway)["file"]) == given
    assert (upload.content_type, upload.whole) == ("application/json", {"$upload": ID})
    with pytest.raises(Unsendable):
        client.upload_input({"x": float("nan")})


@pytest.mark.parametrize("bad", [Answer(lost=True), Answer(503, b"SlowDown")])
def test_a_post_that_got_lost_is_sent_again_whole(
    gateway: FakeGateway, client: Taskgate, clock: StillClock, bad: Answer
) -> None:
    form(gateway, bad, bad, Answer(204, b""))
    client.upload(PDF, content_type="application/pdf")
    assert len(gateway.asked(BUCKET)) == 3
    assert parts(gateway)["file"] == PDF
    assert len(clock.naps) == 2
    form(gateway, bad)
    with pytest.raises(Unreachable, match="4 tries"):
        client.upload(PDF, content_type="application/pdf")


def test_a_bucket_that_refuses_is_not_asked_again(gateway: FakeGateway, client: Taskgate) -> None:
    form(gateway, Answer(400, b"<Code>EntityTooLarge</Code>"))
    with pytest.raises(UploadRefused, match="EntityTooLarge") as refused:
        client.upload(PDF, content_type="application/pdf")
    assert refused.value.status == 400
    assert len(gateway.asked(BUCKET)) == 1


def test_what_the_gateway_does_not_take_is_not_sent_to_the_bucket(
    gateway: FakeGateway, client: Taskgate
) -> None:
    form(gateway)
    gateway.answers(ROUTE, Answer(422, {"code": "invalid_request", "title": "no"}))
    with pytest.raises(Refused):
        client.upload(b"<html>", content_type="text/html")
    assert not gateway.asked(BUCKET)
