"""Uploads on the deployed local stack: the form is signed by the API's own role, and the bucket of the
emulator holds it to key, size, type and every field, as S3 does.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from taskgate.apikeys import issue
from taskgate.aws.keys import DynamoKeys
from taskgate.client import Refused, TaskFailed, Taskgate, UploadRefused
from taskgate.local import LocalStack
from taskgate.principal import SCOPES
from taskgate.task import Owner
from tests.e2e.waiting import PATIENCE

pytestmark = [pytest.mark.e2e, pytest.mark.xdist_group("uploads")]

HANDBOOK = Path(__file__).parents[2] / "examples" / "handbook.pdf"
SMALL = {"chunk_chars": 400, "overlap_chars": 60, "dimensions": 64}


def key_for(stack: LocalStack, user: str) -> str:
    keys = DynamoKeys(stack.client("dynamodb"), table=stack.environment.tasks_table)
    return issue(keys, Owner("files", user), SCOPES - {"operator"}, max_pending=100)


@pytest.fixture(scope="module")
def key(stack: LocalStack) -> str:
    return key_for(stack, "ann")


@pytest.fixture
def client(stack: LocalStack, key: str) -> Iterator[Taskgate]:
    with Taskgate(stack.api_url, key) as client:
        yield client


@pytest.fixture
def worker(stack: LocalStack) -> Iterator[None]:
    worker = stack.start_worker("cpu")
    try:
        yield
    finally:
        worker.stop()


def begun(stack: LocalStack, key: str, **terms: Any) -> Any:
    body = {"content_type": "application/pdf", "bytes": 9, **terms}
    headers = {"Authorization": f"Bearer {key}"}
    with httpx.Client(trust_env=False, timeout=60) as http:
        answer = http.post(f"{stack.api_url}/v1/uploads", json=body, headers=headers)
    assert answer.status_code == 201, answer.text
    return answer.json()


def posted(form: Any, content: bytes, **changed: str) -> int:
    fields = {**form["fields"], **changed}
    with httpx.Client(trust_env=False, timeout=60) as http:
        return http.post(form["url"], data=fields, files={"file": ("f", content)}).status_code


@pytest.mark.usefixtures("worker")
def test_an_uploaded_pdf_is_embedded_and_one_inline_makes_the_very_same_vectors(
    client: Taskgate, tmp_path: Path
) -> None:
    upload = client.upload(HANDBOOK)
    given = {**SMALL, "format": "pdf", "document": upload.ref}
    done = client.run("embed_document", given, timeout=PATIENCE)
    assert done.output["pages"] > 1
    whole = client.upload_input(given)
    again = client.submit("embed_document", whole.whole)
    again.wait(PATIENCE)
    assert again.result().output == done.output
    digests = [{f.name: f.sha256 for f in result.files} for result in (done, again.result())]
    assert digests[0]["vectors.npy"] == digests[1]["vectors.npy"]


def test_the_bucket_takes_the_announced_file_and_no_other(stack: LocalStack, key: str) -> None:
    form = begun(stack, key)
    assert posted(form, b"12345678") == 400
    assert posted(form, b"1234567890") == 400
    theirs = form["fields"]["key"].replace("/ann/", "/bob/")
    for wrong in (
        {"key": theirs},
        {"key": "r/files/task_1/1/image.png"},
        {"Content-Type": "text/html"},
        {"Content-Disposition": "inline"},
        {"success_action_redirect": "https://evil.example/"},
    ):
        assert posted(form, b"123456789", **wrong) == 403, wrong
    listed = stack.client("s3").list_objects_v2(Bucket=stack.environment.results_bucket)
    assert form["fields"]["key"] not in {o["Key"] for o in listed.get("Contents", [])}
    assert posted(form, b"123456789") in {200, 204}


def test_a_file_that_changes_while_it_is_uploaded_is_refused(
    client: Taskgate, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    growing = tmp_path / "growing.pdf"
    growing.write_bytes(b"%PDF-1.7")
    ask = client._transport.ask

    def grow(*arguments: Any, **options: Any) -> Any:
        growing.write_bytes(b"%PDF-1.7 and more")
        return ask(*arguments, **options)

    monkeypatch.setattr(client._transport, "ask", grow)
    with pytest.raises(UploadRefused):
        client.upload(growing)


def test_one_users_upload_is_nothing_to_another(stack: LocalStack, client: Taskgate) -> None:
    upload = client.upload(HANDBOOK)
    with Taskgate(stack.api_url, key_for(stack, "bob")) as bob:
        for given in ({"format": "pdf", "document": upload.ref}, upload.whole):
            with pytest.raises(Refused) as refused:
                bob.submit("embed_document", given)
            assert (refused.value.status, refused.value.code) == (422, "invalid_input")
            assert "You have no upload" in refused.value.fields[0].message


@pytest.mark.usefixtures("worker")
def test_a_task_whose_upload_is_gone_or_was_swapped_ends_with_invalid_input(
    stack: LocalStack, client: Taskgate
) -> None:
    s3, bucket = stack.client("s3"), stack.environment.results_bucket
    for swap in (None, b"%PDF-1.7 other bytes"):
        # Scheduled, so that the worker cannot be quicker than this test.
        upload = client.upload(HANDBOOK)
        given = {**SMALL, "format": "pdf", "document": upload.ref}
        handle = client.submit("embed_document", given, delay=3600)
        place = {"Bucket": bucket, "Key": f"in/files/ann/{upload.id}"}
        metadata = s3.head_object(**place)["Metadata"]
        s3.delete_object(**place)
        if swap is not None:
            s3.put_object(**place, Body=swap, Metadata=metadata, ContentType="application/pdf")
        handle.reschedule(delay=0)
        handle.wait(PATIENCE)
        with pytest.raises(TaskFailed) as failed:
            handle.result()
        error = failed.value.error
        assert error is not None
        assert (error.code, error.retryable) == ("invalid_input", False)
        assert upload.id in error.message


def test_an_uploaded_input_that_does_not_fit_is_refused_at_submit(client: Taskgate) -> None:
    upload = client.upload(json.dumps({"text": 7}).encode(), content_type="application/json")
    with pytest.raises(Refused) as refused:
        client.submit("embed_document", upload.whole)
    assert refused.value.fields[0].field == "input.text"
