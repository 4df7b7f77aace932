import stat
from pathlib import Path

from taskgate.cli.connection import Connection, LocalNote, connect, find_note

NOTE = LocalNote("http://127.0.0.1:1/api", "tg_local", "http://127.0.0.1:1")


def test_the_note_is_readable_by_its_owner_only_and_found_from_below(tmp_path: Path) -> None:
    path = NOTE.write(tmp_path)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    below = tmp_path / "a" / "b"
    below.mkdir(parents=True)
    assert find_note(below) == NOTE


def test_a_note_that_cannot_be_read_counts_as_none(tmp_path: Path) -> None:
    NOTE.write(tmp_path).write_text("{half a no")
    assert find_note(tmp_path) is None


def test_options_win_over_the_environment_and_that_over_the_note(
    tmp_path: Path, monkeypatch
) -> None:
    NOTE.write(tmp_path)
    monkeypatch.chdir(tmp_path)
    environ = {"TASKGATE_URL": "http://env", "TASKGATE_API_KEY": "tg_env"}
    assert connect("http://option", None, environ) == Connection("http://option", "tg_env")
    assert connect(None, None, environ) == Connection("http://env", "tg_env")
    assert connect(None, None, {}) == Connection(NOTE.url, NOTE.api_key)


def test_the_notes_key_never_goes_to_an_address_from_elsewhere(tmp_path: Path, monkeypatch) -> None:
    NOTE.write(tmp_path)
    monkeypatch.chdir(tmp_path)
    assert connect("http://elsewhere", None, {}).api_key is None
