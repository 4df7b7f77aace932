import hashlib
import io
import json
from pathlib import Path

import pytest
from rich.console import Console

from taskgate.cli.printing import table
from taskgate.testing.fake_gateway import Answer, FakeGateway

HISTORY = [
    {"at": "2026-01-02T03:04:05.000Z", "verb": "submit", "to": "created", "actor": "user:demo"},
    {"at": "2026-01-02T03:04:05.250Z", "verb": "enqueue", "to": "queued", "actor": "api"},
]


def test_the_life_of_a_task_says_how_long_each_state_lasted(
    gateway: FakeGateway, run, look
) -> None:
    gateway.answers("GET /v1/tasks/task_1", look("queued", history=HISTORY))
    lines = run("get", "task_1").stdout.splitlines()
    created = next(line for line in lines if "created" in line)
    assert "0.250 s" in created
    assert "user:demo" in created


def test_what_a_stranger_wrote_cannot_steer_the_terminal(gateway: FakeGateway, run, look) -> None:
    error = {"code": "model_error", "message": "\x1b]0;pwned\x07[bold]x[/bold]\x9b2J"}
    gateway.answers("GET /v1/tasks/task_1", look("failed", error=error))
    shown = run("get", "task_1").stdout
    assert "\x1b" not in shown
    assert "\x9b" not in shown
    assert "[bold]x[/bold]" in shown


def test_result_saves_the_files_and_says_where(gateway: FakeGateway, run, tmp_path: Path) -> None:
    digest = hashlib.sha256(b"bytes").hexdigest()
    file = {"name": "a.bin", "size": 5, "sha256": digest, "url": gateway.url + "/b"}
    manifest = {"id": "task_1", "files": [file], "output": {"vectors": 3}}
    gateway.answers("GET /v1/tasks/task_1/result", Answer(body=manifest))
    gateway.answers("GET /b", Answer(body=b"bytes"))
    said = json.loads(run("result", "task_1", "--out", "here", "--json").stdout)
    assert said["saved"] == ["here/a.bin"]
    assert said["output"] == {"vectors": 3}
    assert (tmp_path / "here" / "a.bin").read_bytes() == b"bytes"


def test_cancel_sends_mode_and_reason(gateway: FakeGateway, run, look) -> None:
    gateway.answers("POST /v1/tasks/task_1/cancel", look("canceling"))
    ran = run("cancel", "task_1", "--mode", "hard", "--reason", "wrong prompt")
    assert gateway.seen[0].json == {"mode": "hard", "reason": "wrong prompt"}
    assert "canceling" in ran.stdout


@pytest.mark.parametrize(("options", "shown"), [(["--limit", "3"], 3), (["--all"], 4)])
def test_list_shows_as_many_as_asked_for(gateway: FakeGateway, run, options, shown) -> None:
    pages = [
        Answer(body={"tasks": [{"id": "task_4"}, {"id": "task_3"}], "next_cursor": "c"}),
        Answer(body={"tasks": [{"id": "task_2"}, {"id": "task_1"}], "next_cursor": None}),
    ]
    gateway.answers("GET /v1/tasks", *pages)
    said = json.loads(run("list", *options, "--json").stdout)
    assert len(said["tasks"]) == shown


def test_stats_say_whether_the_books_balance(gateway: FakeGateway, run) -> None:
    gateway.answers("GET /v1/stats", Answer(body={"submitted": 3, "active": 1, "failed": 1}))
    assert "DO NOT BALANCE" in run("stats").stdout
    gateway.answers("GET /v1/stats", Answer(body={"submitted": 2, "active": 1, "failed": 1}))
    assert "the books balance" in run("stats").stdout


def test_types_show_the_fields_and_one_type_its_schema(gateway: FakeGateway, run) -> None:
    schema = {"properties": {"prompt": {}, "seed": {}}, "required": ["prompt"]}
    kinds = [{"name": "text_to_image", "title": "Draw", "input_schema": schema}]
    gateway.answers("GET /v1/task-types", Answer(body={"task_types": kinds}))
    assert "prompt*, seed" in run("types").stdout
    assert json.loads(run("types", "text_to_image").stdout) == schema
    assert run("types", "nonsense").code == 2


def test_an_id_is_never_cut_however_narrow_the_terminal() -> None:
    console = Console(width=50, file=io.StringIO())
    rows = table("id", "type", "state")
    rows.add_row("task_01M8MJH0PBMW1J7NFVAM79MB3C", "embed_document", "processing")
    console.print(rows)
    assert "task_01M8MJH0PBMW1J7NFVAM79MB3C" in console.file.getvalue()
