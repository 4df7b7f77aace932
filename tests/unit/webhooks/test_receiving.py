"""The example receiver and the how-to page do what they say, with what the sender sends."""

from __future__ import annotations

import json
import re
import runpy
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from functions.outbox_callback.sender import Sender
from taskgate.gateway.outbox.delivering import Reason
from taskgate.webhooks import secrets_for, signed
from tests.unit.functions.documented import assert_announced

ROOT = Path(__file__).parents[3]
PAGE = ROOT / "docs" / "how-to" / "receive-callbacks.md"
EXAMPLE = runpy.run_path(str(ROOT / "examples" / "receiver.py"))
OLD, NEW = secrets_for(bytes(32), "acme", [1, 2])
SENDER = Sender(allow_local=True, total_seconds=5)


def body(generation: int = 1, state: str = "succeeded") -> bytes:
    data = {"id": "task_1", "state": state, "generation": generation}
    event = {"type": f"task.{state}", "timestamp": "2026-11-29T12:00:00Z", "data": data}
    return json.dumps(event, ensure_ascii=False).encode()


@pytest.fixture
def inbox():
    return EXAMPLE["Inbox"]((NEW,))


@pytest.fixture
def url(inbox) -> Iterator[str]:
    server = EXAMPLE["serve"](inbox, 0)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    yield f"http://127.0.0.1:{server.server_address[1]}/"
    server.shutdown()
    thread.join()
    server.server_close()


def post(url: str, message_id: str, raw: bytes, secret: str = NEW):
    return SENDER.send(url, raw, signed(message_id, int(time.time()), raw, [secret]))


def test_the_example_takes_what_the_sender_sends(inbox, url, capsys):
    assert post(url, "msg_1", body()).status == 204
    assert inbox.tasks["task_1"]["state"] == "succeeded"
    assert "task.succeeded task_1" in capsys.readouterr().out


def test_the_example_does_an_event_that_comes_twice_once(inbox, url, capsys):
    assert [post(url, "msg_1", body()).status for _ in range(3)] == [204] * 3
    assert capsys.readouterr().out.count("task.succeeded") == 1


def test_the_example_lets_no_older_event_overwrite_a_newer_one(inbox, url):
    post(url, "msg_2", body(generation=2))
    assert post(url, "msg_1", body(generation=1, state="failed")).status == 204
    assert inbox.tasks["task_1"]["state"] == "succeeded"


def test_the_example_lets_no_news_of_a_run_overwrite_its_end_or_later_news(inbox, url):
    def progress(at: str, done: float, generation: int = 1) -> bytes:
        data = {"id": "task_1", "state": "processing", "generation": generation, "progress": done}
        event = {"type": "task.progress", "timestamp": f"2026-11-29T{at}.000Z", "data": data}
        return json.dumps(event).encode()

    def known(raw: bytes) -> tuple[str, float | None]:
        assert post(url, f"msg_{time.monotonic_ns()}", raw).status == 204
        return inbox.tasks["task_1"]["state"], inbox.tasks["task_1"].get("progress")

    assert known(progress("11:00:01", 0.5)) == ("processing", 0.5)
    assert known(progress("11:00:00", 0.25)) == ("processing", 0.5)
    assert known(body(generation=1)) == ("succeeded", None)
    assert known(progress("13:00:00", 0.75)) == ("succeeded", None)
    assert known(progress("13:00:00", 0.1, generation=2)) == ("processing", 0.1)


def test_the_example_refuses_what_is_not_ours_and_the_sender_tries_again(inbox, url):
    attempt = post(url, "msg_1", body(), secret=OLD)
    assert (attempt.status, attempt.reason) == (401, Reason.REFUSED)
    assert inbox.tasks == {}


def test_the_event_that_the_page_shows_is_one_that_the_document_promises():
    shown = re.findall(r"```json\n(.*?)```", PAGE.read_text("utf-8"), re.DOTALL)
    events = [text for text in shown if '"timestamp"' in text]
    assert len(events) == 1
    assert_announced(events[0].encode())


def test_the_python_of_the_how_to_page_runs(capsys):
    derive, receive = re.findall(r"```python\n(.*?)```", PAGE.read_text("utf-8"), re.DOTALL)
    names: dict = {}
    exec(compile(derive, str(PAGE), "exec"), names)  # noqa: S102  the page's own code
    assert (names["secret"],) == secrets_for(names["master"], "acme", [1])
    exec(compile(receive, str(PAGE), "exec"), names)  # noqa: S102  the page's own code
    secret = re.search(r"whsec_\w+=", receive)
    assert secret
    headers = signed("msg_1", int(time.time()), body(), [secret[0]])
    assert names["on_callback"](body(), headers) == 204
    assert names["on_callback"](body() + b" ", headers) == 401
    assert "task.succeeded task_1 succeeded" in capsys.readouterr().out
