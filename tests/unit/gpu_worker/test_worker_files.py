"""The files that an input refers to lie on disk before the run, or the task ends and says why."""

from __future__ import annotations

import errno
import hashlib
import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Annotated, Any, ClassVar, cast

import pytest
from pydantic import Field

from gpu_worker.given_files import with_files
from gpu_worker.order import order_for
from gpu_worker.outcome import Broken, Canceled, Interrupted, Lost, Outcome
from gpu_worker.patience import NotFetched, Patience
from gpu_worker.protocol import Run
from taskgate.catalog import CATALOG
from taskgate.catalog.references import UploadRef
from taskgate.catalog.tasktype import FileRef, TaskInput
from taskgate.errors import InvalidInput, Unavailable
from taskgate.gateway.door.fetching import Files
from taskgate.gateway.work.worker import Failure, Held
from taskgate.lifecycle.states import State
from taskgate.ports import Delivery, Message
from taskgate.results import Stored
from taskgate.task import Owner, ResultFile
from taskgate.testing.factories import OWNER, task_in
from taskgate.testing.memory import MemoryWorld
from taskgate.uploads import MAX_WHOLE_BYTES, key_of, new_upload_id, whole_text

PNG = b"\x89PNG and so on"
PDF = b"%PDF-1.7 and so on"


@pytest.fixture
def world() -> MemoryWorld:
    return MemoryWorld()


def upload(
    world: MemoryWorld, content: bytes = PDF, owner: Owner = OWNER, sha256: str = "", kind: str = ""
) -> str:
    upload_id = new_upload_id(world.clock())
    key, kind = key_of(owner, upload_id), kind or "application/pdf"
    world.results.objects[key] = content
    world.results.told[key] = Stored(
        size=len(content), content_type=kind, sha256=sha256, name="a report.pdf"
    )
    return upload_id


def result(world: MemoryWorld, owner: Owner = OWNER, content: bytes = PNG) -> dict[str, str]:
    """A reference to a file of a task that ended well."""
    task = task_in(State.SUCCEEDED, owner=owner)
    key = f"r/{owner.tenant}/{task.id}/1/image.png"
    digest = hashlib.sha256(PNG).digest()
    file = ResultFile("image.png", key, len(PNG), digest, "image/png")
    world.tasks.tasks[task.id] = replace(task, result=(file,))
    world.results.objects[key] = content
    return {"task": task.id, "file": "image.png"}


def ordered(
    world: MemoryWorld, kind: str, given: dict[str, Any] | str, folder: Path
) -> tuple[Run, Any] | Failure:
    task = task_in(State.PROCESSING, type=kind, owner=OWNER)
    text = given if isinstance(given, str) else json.dumps(given)
    held = Held(task, text, Delivery(Message(task.id, 0), "cpu-normal", "r"))
    return order_for(held, CATALOG, 1, folder, Files(world.ports, task.owner))


def embed(world: MemoryWorld, upload_id: str, folder: Path) -> tuple[Run, Any] | Failure:
    given = {"format": "pdf", "document": {"upload": upload_id}}
    return ordered(world, "embed_document", given, folder)


def test_a_file_of_a_result_lies_on_disk_before_the_run(world: MemoryWorld, tmp_path: Path) -> None:
    order = ordered(world, "finish_image", {"image": result(world)}, tmp_path)
    assert not isinstance(order, Failure)
    given = Path(order[0].input["image"]["path"])
    assert (given.read_bytes(), given.parent) == (PNG, tmp_path)


def test_an_upload_lies_on_disk_before_the_run_with_its_type_and_name(
    world: MemoryWorld, tmp_path: Path
) -> None:
    order = embed(world, upload(world, sha256=hashlib.sha256(PDF).hexdigest()), tmp_path)
    assert not isinstance(order, Failure)
    given = order[0].input["document"]
    assert Path(given["path"]).read_bytes() == PDF
    assert (given["content_type"], given["name"]) == ("application/pdf", "a report.pdf")


def foreign_result(world: MemoryWorld, folder: Path) -> object:
    return ordered(world, "finish_image", {"image": result(world, Owner("x", "y"))}, folder)


def unknown_result(world: MemoryWorld, folder: Path) -> object:
    image = {"task": "task_" + "0" * 26, "file": "image.png"}
    return ordered(world, "finish_image", {"image": image}, folder)


def expired_result(world: MemoryWorld, folder: Path) -> object:
    image = result(world)
    world.results.objects.clear()
    return ordered(world, "finish_image", {"image": image}, folder)


def gone_upload(world: MemoryWorld, folder: Path) -> object:
    return embed(world, new_upload_id(world.clock()), folder)


def foreign_upload(world: MemoryWorld, folder: Path) -> object:
    return embed(world, upload(world, owner=Owner("acme", "someone.else")), folder)


def other_bytes(world: MemoryWorld, folder: Path) -> object:
    return embed(world, upload(world, sha256="0" * 64), folder)


def gone_input(world: MemoryWorld, folder: Path) -> object:
    return ordered(world, "embed_document", whole_text(new_upload_id(world.clock())), folder)


def input_that_is_no_text(world: MemoryWorld, folder: Path) -> object:
    return ordered(world, "embed_document", whole_text(upload(world, b'{"text":"\xff"}')), folder)


def input_that_grew(world: MemoryWorld, folder: Path) -> object:
    content = b'{"text":"' + b"x" * MAX_WHOLE_BYTES + b'"}'
    return ordered(world, "embed_document", whole_text(upload(world, content)), folder)


def input_that_is_no_input(world: MemoryWorld, folder: Path) -> object:
    return ordered(world, "embed_document", whole_text(upload(world, b'{"text":NaN}')), folder)


@pytest.mark.parametrize(
    ("attempted", "why"),
    [
        (foreign_result, "You have no result"),
        (unknown_result, "You have no result"),
        (expired_result, "is kept no more"),
        (gone_upload, "You have no upload"),
        (foreign_upload, "You have no upload"),
        (other_bytes, "other bytes"),
        (gone_input, "You have no upload"),
        (input_that_is_no_text, "not UTF-8"),
        (input_that_grew, "at most"),
        (input_that_is_no_input, "text: "),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_what_is_not_there_to_be_read_ends_the_task_with_invalid_input(
    world: MemoryWorld,
    tmp_path: Path,
    attempted: Callable[[MemoryWorld, Path], object],
    why: str,
) -> None:
    failure = attempted(world, tmp_path)
    assert isinstance(failure, Failure)
    assert (failure.code, failure.error_class) == ("invalid_input", "permanent")
    assert why in failure.message


def test_an_input_that_was_uploaded_is_read_like_any_other(
    world: MemoryWorld, tmp_path: Path
) -> None:
    text = "é" * 100_000
    content = json.dumps({"text": text, "dimensions": 64}, ensure_ascii=False).encode()
    order = ordered(world, "embed_document", whole_text(upload(world, content)), tmp_path)
    assert not isinstance(order, Failure)
    assert (order[0].input["text"], order[0].input["dimensions"]) == (text, 64)


def test_an_uploaded_input_may_itself_refer_to_an_upload(
    world: MemoryWorld, tmp_path: Path
) -> None:
    given = {"format": "pdf", "document": {"upload": upload(world)}}
    whole = upload(world, json.dumps(given).encode())
    order = ordered(world, "embed_document", whole_text(whole), tmp_path)
    assert not isinstance(order, Failure)
    assert Path(order[0].input["document"]["path"]).read_bytes() == PDF


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (Unavailable("busy"), "upstream_error"),
        (OSError(errno.ENOSPC, "No space left on device"), "startup_failed"),
    ],
)
def test_a_bucket_that_is_away_or_a_full_disk_is_tried_again(
    world: MemoryWorld, tmp_path: Path, error: Exception, code: str
) -> None:
    def broken(*_: object) -> None:
        raise error

    world.results.fetch = broken  # type: ignore[method-assign, assignment]
    failure = embed(world, upload(world), tmp_path)
    assert isinstance(failure, Failure)
    assert (failure.code, failure.error_class) == (code, "transient")


def test_a_result_that_arrives_damaged_is_fetched_again_later(
    world: MemoryWorld, tmp_path: Path
) -> None:
    image = result(world, content=b"other bytes")
    failure = ordered(world, "finish_image", {"image": image}, tmp_path)
    assert isinstance(failure, Failure)
    assert failure.error_class == "transient"


class Part(UploadRef):
    content_types: ClassVar[tuple[str, ...]] = ("text/plain",)
    max_bytes: ClassVar[int] = 10


class Chapter(TaskInput):
    parts: list[Part]


class Book(TaskInput):
    cover: FileRef
    chapters: dict[str, Chapter]
    note: Annotated[Part | None, Field()] = None


def test_references_are_found_wherever_they_stand_and_each_gets_a_file_of_its_own(
    world: MemoryWorld, tmp_path: Path
) -> None:
    parts = [{"upload": upload(world, content)} for content in (b"one", b"two", b"three")]
    book = Book.model_validate(
        {
            "cover": result(world),
            "chapters": {"../../etc/passwd": {"parts": parts[:2]}, "b": {"parts": parts[2:]}},
        }
    )
    values = with_files(book, tmp_path, Files(world.ports, OWNER))
    told = [part["path"] for c in values["chapters"].values() for part in c["parts"]]
    assert [Path(path).read_bytes() for path in told] == [b"one", b"two", b"three"]
    assert {Path(path).parent for path in (*told, values["cover"]["path"])} == {tmp_path}
    assert values["note"] is None


@pytest.mark.parametrize(
    ("now", "ended"),
    [
        ({"lost": True}, Lost),
        ({"signal": "cancel_hard"}, Canceled),
        ({"over": Failure}, Broken),
        ({"leaves": True}, Interrupted),
        ({"signal": "cancel_soft"}, None),
        ({}, None),
    ],
    ids=str,
)
def test_a_download_ends_with_its_attempt(
    world: MemoryWorld, tmp_path: Path, now: dict[str, Any], ended: type[Outcome] | None
) -> None:
    held = SimpleNamespace(task=SimpleNamespace(checkpoint="c"))
    heart = SimpleNamespace(lost=now.get("lost"), signal=now.get("signal"), held=held)
    time = SimpleNamespace(over=lambda: now.get("over"))
    stop = SimpleNamespace(over=now.get("leaves"))
    patience = Patience(cast("Any", heart), cast("Any", time), cast("Any", stop))
    files = Files(world.ports, OWNER, patience)
    if ended is None:
        assert files.upload(upload(world), str(tmp_path / "file")).size == len(PDF)
        return
    with pytest.raises(NotFetched) as stopped:
        files.upload(upload(world), str(tmp_path / "file"))
    assert isinstance(stopped.value.outcome, ended)


def test_a_stranger_learns_nothing_from_the_refusal(world: MemoryWorld, tmp_path: Path) -> None:
    theirs = upload(world, owner=Owner("evil", "eve"))
    never = new_upload_id(world.clock())
    said = []
    for upload_id in (theirs, never):
        with pytest.raises(InvalidInput) as refused:
            Files(world.ports, OWNER).upload(upload_id, str(tmp_path / "x"))
        said.append(str(refused.value).replace(upload_id, "ID"))
    assert said[0] == said[1]
