"""The emulator's bucket keeps the promises of every bucket, signed forms over real HTTP."""

from __future__ import annotations

from pathlib import Path

import httpx
import pytest

from taskgate.aws.bucket import S3Results
from taskgate.ports import Ports
from taskgate.results import Form, Results
from taskgate.task import Owner
from taskgate.testing.conformance.results import CONTENT, TERMS, Post, ResultsConformance
from taskgate.uploads import key_of, new_upload_id


def posted(form: Form, content: bytes) -> httpx.Response:
    with httpx.Client(trust_env=False, timeout=60) as http:
        return http.post(form.url, data=dict(form.fields), files={"file": ("x", content)})


def post_or_raise(form: Form, content: bytes) -> None:
    posted(form, content).raise_for_status()


class TestEmulatedBucket(ResultsConformance):
    @pytest.fixture
    def results(self, ports: Ports) -> Results:
        return ports.results

    @pytest.fixture
    def post(self) -> Post:
        return post_or_raise

    @pytest.mark.parametrize(
        "changed",
        [
            {"key": "in/other/eve/upload_1"},
            {"key": "../r/acme/task_1/1/image.png"},
            {"Content-Type": "text/html"},
            {"Content-Disposition": "inline"},
            {"x-amz-meta-sha256": "0" * 64},
            {"acl": "public-read"},
            {"success_action_redirect": "https://evil.example/"},
        ],
        ids=str,
    )
    def test_a_form_with_another_or_a_further_field_is_refused_and_stores_nothing(
        self, results: Results, key: str, changed: dict[str, str]
    ) -> None:
        form = results.form(key, TERMS, 900)
        answer = posted(Form(form.url, {**form.fields, **changed}), CONTENT)
        assert answer.status_code == 403
        assert results.look(key) is None
        assert results.look(changed.get("key", key)) is None

    def test_a_form_is_good_for_its_time_only(self, results: Results, key: str) -> None:
        assert posted(results.form(key, TERMS, -1), CONTENT).status_code == 403
        assert results.look(key) is None


def test_a_large_result_goes_up_in_parts_on_the_emulator_and_the_first_one_wins(
    ports: Ports, tmp_path: Path
) -> None:
    parted = S3Results(ports.results._client, ports.results._bucket, 5 * 1024**2)  # type: ignore[attr-defined]
    for fill in (b"1", b"2"):
        (tmp_path / "large").write_bytes(fill * (6 * 1024**2))
        parted.put("r/acme/parts/1/large", str(tmp_path / "large"), "application/octet-stream")
    content = parted.read("r/acme/parts/1/large", 7 * 1024**2)
    assert content == b"1" * (6 * 1024**2)


@pytest.mark.parametrize("user", ["..", ".", "a..b"])
def test_a_user_whose_name_looks_like_a_path_stays_in_a_folder_of_their_own(
    ports: Ports, user: str, tmp_path: Path
) -> None:
    upload_id = new_upload_id(ports.now())
    key = key_of(Owner("acme", user), upload_id)
    post_or_raise(ports.results.form(key, TERMS, 900), CONTENT)
    assert ports.results.look(key) == TERMS
    assert ports.results.fetch(key, str(tmp_path / "given")) is not None
    for other in (f"in/{upload_id}", f"in/acme/{upload_id}"):
        assert ports.results.look(other) is None
