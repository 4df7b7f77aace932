"""The bucket: in memory and on moto it keeps the same promises; what a signed form says to S3."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import boto3
import pytest
from botocore.stub import Stubber
from moto import mock_aws

from taskgate.aws import clients
from taskgate.aws.bucket import S3Results
from taskgate.errors import Unavailable
from taskgate.results import Form, Results, Stored
from taskgate.testing.conformance.results import CONTENT, TERMS, Post, ResultsConformance
from taskgate.testing.memory.results import MemoryResults

KEY = "in/acme/ada/upload_1"


class TestMemoryBucket(ResultsConformance):
    @pytest.fixture
    def results(self) -> Results:
        return MemoryResults()

    @pytest.fixture
    def post(self, results: MemoryResults) -> Post:
        return results.post


@pytest.fixture
def bucket(monkeypatch: pytest.MonkeyPatch) -> Iterator[S3Results]:
    monkeypatch.setenv("AWS_DEFAULT_REGION", "eu-north-1")
    with mock_aws():
        boto3.client("s3").create_bucket(
            Bucket="results", CreateBucketConfiguration={"LocationConstraint": "eu-north-1"}
        )
        yield S3Results(clients.s3(), "results")


def policy_of(form: Form) -> dict[str, Any]:
    policy: dict[str, Any] = json.loads(base64.b64decode(form.fields["policy"]))
    return policy


def test_a_form_holds_its_bearer_to_key_size_type_and_every_other_field(bucket: S3Results) -> None:
    form = bucket.form(KEY, TERMS, 900)
    conditions = policy_of(form)["conditions"]
    size = len(CONTENT)
    assert [c for c in conditions if isinstance(c, list)] == [["content-length-range", size, size]]
    exact = {name: value for c in conditions if isinstance(c, dict) for name, value in c.items()}
    assert exact["key"] == KEY
    assert exact["bucket"] == "results"
    assert exact["Content-Type"] == "application/pdf"
    # S3 takes no field that no condition names: nothing can be slipped in beside these.
    unsigned = {"policy", "x-amz-signature"}
    assert {n: v for n, v in form.fields.items() if n not in unsigned} == {
        n: v for n, v in exact.items() if n != "bucket"
    }


def test_what_is_uploaded_is_a_file_to_save_and_never_a_page_to_open(bucket: S3Results) -> None:
    assert bucket.form(KEY, TERMS, 900).fields["Content-Disposition"] == "attachment"


def test_the_checksum_is_told_to_s3_which_refuses_other_bytes(bucket: S3Results) -> None:
    fields = bucket.form(KEY, TERMS, 900).fields
    assert base64.b64decode(fields["x-amz-checksum-sha256"]).hex() == TERMS.sha256
    assert fields["x-amz-checksum-algorithm"] == "SHA256"


def test_a_form_goes_to_the_buckets_own_region_signed_as_every_region_takes_it(
    bucket: S3Results,
) -> None:
    form = bucket.form(KEY, TERMS, 900)
    assert form.url == "https://results.s3.eu-north-1.amazonaws.com/"
    assert form.fields["x-amz-algorithm"] == "AWS4-HMAC-SHA256"
    assert "/eu-north-1/s3/" in form.fields["x-amz-credential"]


def test_a_name_in_any_script_travels_as_ascii(bucket: S3Results) -> None:
    terms = Stored(size=1, content_type="text/plain", name="\r\nX: ключ\u2028é😀")
    form = bucket.form(KEY, terms, 900)
    assert all(value.isascii() and value.isprintable() for value in form.fields.values())


@pytest.mark.parametrize("name", ['a"; filename="evil.html', "a\r\nSet-Cookie: x", "é/../x"])
def test_no_files_name_gets_out_of_its_quotes_in_the_disposition(
    bucket: S3Results, name: str
) -> None:
    query = parse_qs(urlsplit(bucket.sign("r/acme/t/1/a", 60, name)).query)
    [disposition] = query["response-content-disposition"]
    head, quoted, tail = disposition.split('"')
    assert (head, tail) == ("attachment; filename=", "")
    assert not set(quoted) & set("/\\\r\n;")


def test_a_file_over_the_greatest_put_goes_up_in_parts_and_arrives_whole(
    bucket: S3Results, tmp_path: Path
) -> None:
    # S3 takes no part below 5 MiB but the last.
    content = bytes(range(256)) * (11 * 4096)
    (tmp_path / "large").write_bytes(content)
    parted = S3Results(bucket._client, "results", greatest_put=5 * 1024**2)
    parted.put("r/acme/t/1/large", str(tmp_path / "large"), "application/octet-stream")
    assert parted.read("r/acme/t/1/large", len(content) + 1) == content
    etag = bucket._client.head_object(Bucket="results", Key="r/acme/t/1/large")["ETag"]
    assert etag.strip('"').endswith("-3")


def test_parts_that_failed_leave_no_object_and_are_aborted(
    bucket: S3Results, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "large").write_bytes(bytes(6 * 1024**2))
    parted = S3Results(bucket._client, "results", greatest_put=5 * 1024**2)

    def broken(**_: Any) -> None:
        raise OSError("the disk is gone")

    monkeypatch.setattr(bucket._client, "upload_part", broken)
    with pytest.raises(OSError, match="the disk is gone"):
        parted.put("r/acme/t/1/large", str(tmp_path / "large"), "application/octet-stream")
    assert bucket.look("r/acme/t/1/large") is None
    assert not bucket._client.list_multipart_uploads(Bucket="results").get("Uploads")


def test_a_put_under_way_elsewhere_is_no_object_that_is_there_already(
    bucket: S3Results, tmp_path: Path
) -> None:
    """409 is tried again, since nobody owns the key yet; 412 says that somebody does."""
    (tmp_path / "file").write_bytes(b"ours")
    client = bucket._client
    key, path = "r/acme/task_1/1/out", str(tmp_path / "file")
    with Stubber(client) as stub:
        stub.add_client_error("put_object", "ConditionalRequestConflict", http_status_code=409)
        with pytest.raises(Unavailable):
            bucket.put(key, path, "x/y")
    assert bucket.look(key) is None
    assert bucket.put(key, path, "x/y")
    assert bucket.read(key, 10) == b"ours"


@pytest.mark.parametrize("there", [b"ours", b"them", b"longer than ours"], ids=str)
def test_a_412_counts_as_done_only_when_the_very_bytes_are_there(
    bucket: S3Results, tmp_path: Path, there: bytes
) -> None:
    (tmp_path / "file").write_bytes(b"ours")
    bucket._client.put_object(Bucket="results", Key="r/a/b/1/out", Body=there)
    assert bucket.put("r/a/b/1/out", str(tmp_path / "file"), "x/y") is (there == b"ours")
    assert bucket.read("r/a/b/1/out", 100) == there
