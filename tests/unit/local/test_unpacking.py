"""A function's code is unpacked once, however many environments run it."""

from __future__ import annotations

import os
import zipfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace

import pytest

from taskgate.local.unpacking import KEPT, share, unpacked


@pytest.fixture
def place(tmp_path: Path) -> Path:
    return tmp_path / "unpacked"


def code(folder: Path, name: str, text: str = "pass") -> Path:
    archive = folder / f"{name}.zip"
    with zipfile.ZipFile(archive, "w") as made:
        made.writestr("functions/handler.py", text)
    return archive


def started(runtime: SimpleNamespace, archive: Path, folder: Path) -> Path:
    """As the emulator does for each environment: where its code is."""
    where = folder / "code"
    where.mkdir(parents=True)
    with runtime.zipfile.ZipFile(str(archive)) as files:
        files.extractall(str(where))
    return where


def test_environments_of_one_code_read_one_copy_also_when_they_start_at_once(
    tmp_path: Path, place: Path
) -> None:
    runtime = SimpleNamespace(zipfile=zipfile)
    share(runtime, place)
    archives = [code(tmp_path, f"copy{number}") for number in range(8)]
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda a: started(runtime, a, tmp_path / a.stem), archives))
    assert len({where.resolve() for where in found}) == 1
    assert all((where / "functions/handler.py").read_text() == "pass" for where in found)
    assert zipfile.ZipFile is not runtime.zipfile.ZipFile, (
        "the emulator's other archives are theirs"
    )


def test_changed_code_has_a_copy_of_its_own(tmp_path: Path, place: Path) -> None:
    before, after = (unpacked(code(tmp_path, text, text), place) for text in ("one", "two"))
    assert before != after
    assert (after / "functions/handler.py").read_text() == "two"


def test_the_copies_that_were_asked_for_last_are_kept(tmp_path: Path, place: Path) -> None:
    archives = [code(tmp_path, f"code{n}", str(n)) for n in range(KEPT + 1)]
    for seconds, archive in enumerate(archives[:KEPT]):
        os.utime(unpacked(archive, place), (seconds, seconds))
    still_run = unpacked(archives[0], place)
    unpacked(archives[-1], place)
    left = {p for p in place.iterdir() if p.is_dir()}
    assert len(left) == KEPT
    assert still_run in left
    assert (unpacked(archives[1], place) / "functions/handler.py").read_text() == "1"


def test_what_was_left_half_unpacked_is_not_taken_for_whole(tmp_path: Path, place: Path) -> None:
    archive = code(tmp_path, "code")
    folder = unpacked(archive, place)
    folder.rename(folder.with_name(folder.name + ".unfinished"))
    (folder.with_name(folder.name + ".unfinished") / "functions/handler.py").unlink()
    assert (unpacked(archive, place) / "functions/handler.py").exists()
