import hashlib
import traceback
from pathlib import Path

import pytest

from taskgate.client import DownloadCorrupt, Refused, Taskgate, TaskTimedOut, Unreachable
from taskgate.client.downloading import safe_name
from taskgate.testing.fake_gateway import Answer, FakeGateway

CONTENT = b"\x89PNG not quite"
RESULT = "GET /v1/tasks/task_1/result"


def serve(gateway: FakeGateway, name: str = "image.png", sha256: str | None = None) -> None:
    file = {
        "name": name,
        "size": len(CONTENT),
        "sha256": sha256 or hashlib.sha256(CONTENT).hexdigest(),
        "content_type": "image/png",
        "url": gateway.url + "/bucket/x?sig=1",
    }
    manifest = {"id": "task_1", "files": [file], "output": {"n": 1}}
    gateway.answers(RESULT, Answer(body=manifest))
    gateway.answers("GET /bucket/x", Answer(body=CONTENT))


def test_a_file_arrives_byte_for_byte_under_its_own_name(
    gateway: FakeGateway, client: Taskgate, tmp_path: Path
) -> None:
    serve(gateway)
    (path,) = client.handle("task_1").download(tmp_path / "new")
    assert path == tmp_path / "new" / "image.png"
    assert path.read_bytes() == CONTENT
    assert len(gateway.seen) == 2


def test_the_api_key_does_not_go_to_the_bucket(
    gateway: FakeGateway, client: Taskgate, tmp_path: Path
) -> None:
    serve(gateway)
    client.download("task_1", tmp_path)
    assert "authorization" not in gateway.asked("GET /bucket/x")[0].headers


def test_other_bytes_than_the_manifests_are_refused_and_not_left_on_disk(
    gateway: FakeGateway, client: Taskgate, tmp_path: Path
) -> None:
    serve(gateway, sha256="0" * 64)
    with pytest.raises(DownloadCorrupt, match=r"image\.png"):
        client.download("task_1", tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_a_bucket_that_refuses_leaves_nothing_on_disk(
    gateway: FakeGateway, client: Taskgate, tmp_path: Path
) -> None:
    serve(gateway)
    gateway.answers("GET /bucket/x", Answer(403, b"expired"))
    with pytest.raises(Unreachable):
        client.download("task_1", tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_a_bucket_that_refuses_is_told_by_its_status_and_never_by_the_signed_link(
    gateway: FakeGateway, client: Taskgate, tmp_path: Path
) -> None:
    serve(gateway)
    gateway.answers("GET /bucket/x", Answer(404, b"gone"))
    with pytest.raises(Unreachable) as refused:
        client.download("task_1", tmp_path)
    told = "".join(traceback.format_exception(refused.value))
    assert "answered 404" in told
    assert "/bucket/x" not in told


@pytest.mark.parametrize("name", ["../../evil.sh", "/evil.sh", "..\\evil.sh", "a/evil.sh"])
def test_no_name_writes_outside_the_folder(name: str) -> None:
    assert safe_name(name) == "evil.sh"


@pytest.mark.parametrize("name", ["", ".", "..", "/"])
def test_a_name_that_is_none_still_gets_a_file(name: str) -> None:
    assert safe_name(name) == "result"


@pytest.mark.parametrize(("state", "raised"), [("queued", Refused), ("timed_out", TaskTimedOut)])
def test_without_a_result_the_error_says_whether_there_will_ever_be_one(
    gateway: FakeGateway, client: Taskgate, state: str, raised: type[Exception]
) -> None:
    gateway.answers("GET /v1/tasks/task_1", Answer(body={"id": "task_1", "state": state}))
    gateway.answers(RESULT, Answer(409, {"code": "result_not_ready", "detail": "Not ready."}))
    with pytest.raises(raised):
        client.result("task_1")
