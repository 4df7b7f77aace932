"""A process's folder: private, gone with it, and cleared by the next one when it was killed."""

from __future__ import annotations

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from taskgate.scratch import Scratch

MARK = "ours-"
HOLDS = """
import sys, time
from pathlib import Path
from taskgate.scratch import Scratch
made = Scratch(Path(sys.argv[1]), "ours-")
print(made.base, flush=True)
time.sleep(60)
"""


def test_a_scratch_folder_is_private_and_gone_when_closed(tmp_path: Path) -> None:
    scratch = Scratch(tmp_path, MARK)
    folder = scratch.folder("attempt")
    (folder / "file").write_text("x")
    base = folder.parent
    assert base.stat().st_mode & 0o077 == 0
    scratch.close()
    assert not base.exists()


def test_only_folders_of_the_same_mark_whose_process_is_gone_are_cleared(tmp_path: Path) -> None:
    living = Scratch(tmp_path, MARK)
    dead, other = tmp_path / "ours-dead", tmp_path / "somebody-elses"
    for left in (dead, other):
        left.mkdir()
        (left / "lock").touch()
    again = Scratch(tmp_path, MARK)
    assert not dead.exists()
    assert other.exists()
    assert len(list(tmp_path.glob("ours-*"))) == 2
    living.close()
    again.close()


def test_processes_that_start_at_once_in_one_folder_do_not_clear_each_other(tmp_path: Path) -> None:
    with ThreadPoolExecutor(16) as starting:
        made = list(starting.map(lambda _: Scratch(tmp_path, MARK), range(100)))
    for scratch in made:
        scratch.folder("attempt")
        scratch.close()
    assert not list(tmp_path.iterdir())


def test_the_folder_of_a_process_that_was_killed_goes_with_the_next_start(tmp_path: Path) -> None:
    command = [sys.executable, "-c", HOLDS, str(tmp_path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout
        left = Path(process.stdout.readline().strip())
        Scratch(tmp_path, MARK).close()
        assert left.exists(), "its owner lives"
        process.kill()
    Scratch(tmp_path, MARK).close()
    assert not left.exists()
