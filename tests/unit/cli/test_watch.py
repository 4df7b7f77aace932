import io
import json
import re

from rich.console import Console

from taskgate.cli.live import Screen
from taskgate.client.answers import task_of
from taskgate.testing.fake_gateway import Answer, FakeGateway

TASK = "GET /v1/tasks/task_1"
STATUS = "GET /v1/tasks/task_1/status"


def test_a_task_that_runs_again_is_seen_at_attempt_2(gateway: FakeGateway, run, look) -> None:
    life = [
        look("processing", progress=0.5, stage="embed"),
        look("retrying"),
        look("processing", attempt=2, progress=0.1, stage="parse"),
        look("succeeded", attempt=2, progress=1.0),
    ]
    gateway.answers(STATUS, *life)
    gateway.answers(TASK, *life, life[-1])
    ran = run("watch", "task_1")
    assert ran.code == 0
    changes = re.findall(r"task_1  (\w+)  attempt (\d)  (\d+)%", ran.stdout)
    assert changes == [
        ("processing", "1", "50"),
        ("retrying", "1", "0"),
        ("processing", "2", "10"),
        ("succeeded", "2", "100"),
    ]


def test_json_is_a_line_a_change_and_repeats_nothing(gateway: FakeGateway, run, look) -> None:
    gateway.answers(STATUS, look("queued"), look("queued"), look("succeeded"))
    gateway.answers(TASK, look("queued"), look("succeeded"))
    lines = run("watch", "task_1", "--json").stdout.splitlines()
    assert [json.loads(line)["state"] for line in lines] == ["queued", "succeeded"]


def test_the_live_screen_shows_state_stage_progress_attempt_and_history() -> None:
    console = Console(width=120, record=True, force_terminal=True, file=io.StringIO())
    entry = {"at": "2026-01-02T03:04:05.678Z", "verb": "claim", "to": "processing", "attempt": 2}
    body = {"id": "task_1", "state": "processing", "attempt": 2, "progress": 0.42}
    with Screen(console) as screen:
        screen.show(task_of({**body, "stage": "embed", "history": [entry]}))
    text = console.export_text()
    for word in ("task_1", "processing", "42%", "embed", "attempt 2", "claim"):
        assert word in text


def test_a_refusal_while_watching_names_the_task_and_keeps_the_exit_code(
    gateway: FakeGateway, run, look
) -> None:
    gateway.answers(STATUS, look("queued"), Answer(403, {"code": "missing_scope"}))
    gateway.answers(TASK, look("queued"))
    assert run("watch", "task_1").code == 4
