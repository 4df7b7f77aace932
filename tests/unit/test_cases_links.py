"""Cases of other projects about signed links (B111, B112)."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import boto3
import pytest
from botocore.credentials import RefreshableCredentials
from botocore.session import get_session
from moto import mock_aws

from functions.api.results import LINK_SECONDS
from functions.http.times import moment
from taskgate.aws import clients
from taskgate.aws.bucket import S3Results
from taskgate.gateway import announcing
from tests.unit.functions.api_world import ApiWorld

BUCKET = "taskgate-prod-c0-results"


def _query(url: str) -> dict[str, str]:
    return {name: values[0] for name, values in parse_qs(urlsplit(url).query).items()}


@pytest.mark.parametrize("region", ["eu-north-1", "us-east-2", "us-east-1", "ap-southeast-2"])
def test_a_link_names_the_buckets_own_host_and_region_and_is_signed_by_sigv4(
    region: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AWS_DEFAULT_REGION", region)
    monkeypatch.setattr(boto3, "DEFAULT_SESSION", None)
    client = clients.s3()
    url = S3Results(client, BUCKET).sign("r/acme/task/1/a b.png", 900, "a b.png")
    client.close()
    parts, query = urlsplit(url), _query(url)
    assert parts.scheme == "https"
    host = f"{BUCKET}.s3.{region}.amazonaws.com"
    assert parts.hostname in {host, f"{BUCKET}.s3.amazonaws.com" if region == "us-east-1" else host}
    assert query["X-Amz-Algorithm"] == "AWS4-HMAC-SHA256"
    assert query["X-Amz-Credential"].split("/")[2:] == [region, "s3", "aws4_request"]
    assert query["X-Amz-Expires"] == "900"


class Renewed:
    """Credentials that end in so many seconds; asked to renew them, the source has these more."""

    def __init__(self, seconds: int, more: int | None) -> None:
        self.more, self.asked = more, 0
        session = get_session()
        session._credentials = RefreshableCredentials.create_from_metadata(
            self._metadata(seconds), self._renew, "test"
        )
        session.set_config_variable("region", "eu-north-1")
        self.client: Any = session.create_client("s3")

    def _renew(self) -> dict[str, str]:
        self.asked += 1
        if self.more is None:
            raise OSError("the source of credentials is away")
        return self._metadata(self.more)

    def _metadata(self, seconds: int) -> dict[str, str]:
        ends = datetime.now(UTC) + timedelta(seconds=seconds)
        return {
            "access_key": "AKIA",
            "secret_key": "s",
            "token": "t",
            "expiry_time": ends.isoformat(),
        }


@pytest.fixture
def aws() -> Iterator[None]:
    with mock_aws():
        yield


@pytest.mark.parametrize(
    ("left", "more", "asked", "good"),
    [
        (610, None, 3600, 610),
        (610, 6 * 3600, 3600, 3600),
        (6 * 3600, None, 3600, 3600),
        (6 * 3600, None, 900, 900),
    ],
)
def test_a_link_never_claims_to_outlive_the_credentials_that_sign_it(
    left: int, more: int | None, asked: int, good: int
) -> None:
    renewed = Renewed(left, more)
    results = S3Results(renewed.client, BUCKET)
    told = results.good_for(asked)
    assert good - 5 <= told <= good
    assert int(_query(results.sign("r/a", told))["X-Amz-Expires"]) == told
    renewed.client.close()


def test_credentials_without_an_end_leave_a_link_its_whole_time(aws: None) -> None:
    client = clients.s3()
    assert S3Results(client, BUCKET).good_for(LINK_SECONDS) == LINK_SECONDS
    client.close()


def test_the_manifest_tells_the_shorter_time_and_is_made_afresh_at_each_read(
    tmp_path: Path,
) -> None:
    api = ApiWorld()
    task_id = api.submitted()
    api.succeed(api.claim(), tmp_path, "a.png")
    path = f"/v1/tasks/{task_id}/result"
    api.world.ports.results.credentials_left = 600  # type: ignore[attr-defined]
    first = api.get(path, query={"inline": "true"}).json
    assert moment(first["expires_at"]) == api.world.clock() + 600_000
    assert "seconds=600" in first["files"][0]["url"]
    assert "seconds=600" in api.get(path).headers["Location"]
    api.world.clock.advance(3600)
    api.world.ports.results.credentials_left = 6 * 3600  # type: ignore[attr-defined]
    again = api.get(path, query={"inline": "true"}).json
    assert moment(again["expires_at"]) == api.world.clock() + LINK_SECONDS * 1000


def test_no_link_is_kept_on_record_or_sent_to_a_receiver(tmp_path: Path) -> None:
    api = ApiWorld()
    task_id = api.submitted({"type": "text_to_image", "input": {"prompt": "x"}})
    api.succeed(api.claim(), tmp_path, "a.png")
    task = api.tasks[task_id]
    assert all("://" not in str(file) for file in task.result)
    assert "://" not in announcing.body(task)
    assert "://" not in str(api.get(f"/v1/tasks/{task_id}").json["result"])
