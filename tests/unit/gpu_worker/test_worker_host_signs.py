"""What the host tells a worker, and what a worker tells its host: Spot notices, ECS protection."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest
from loopback import Asked, Loopback, served

from gpu_worker.protection import Protection
from gpu_worker.spot import SpotWatch
from gpu_worker.stop import Stop
from tests.unit.gpu_worker.waiting import until

ACTION = "/latest/meta-data/spot/instance-action"


class Metadata:
    """IMDSv2 as EC2 serves it: a token first, and 404 while nothing is to happen."""

    def __init__(self) -> None:
        self.token, self.notice = "t1", False

    def __call__(self, asked: Asked) -> tuple[int, bytes]:
        if (asked.method, asked.path) == ("PUT", "/latest/api/token"):
            assert asked.headers["x-aws-ec2-metadata-token-ttl-seconds"] == "21600"
            return 200, self.token.encode()
        if asked.headers.get("x-aws-ec2-metadata-token") != self.token:
            return 401, b""
        if asked.path != ACTION or not self.notice:
            return 404, b"<html>not found</html>"
        return 200, b'{"action": "terminate", "time": "2026-11-29T12:00:00Z"}'


@contextmanager
def watching(metadata: Metadata) -> Iterator[tuple[Loopback, list[str]]]:
    heard: list[str] = []
    with served(metadata) as loopback:
        watch = SpotWatch(heard.append, loopback.url, every=0.02)
        watch.start()
        yield loopback, heard
        watch.close()


def test_a_spot_notice_starts_the_drain_once() -> None:
    metadata = Metadata()
    with watching(metadata) as (loopback, heard):
        until(lambda: len(loopback.asked) > 3)
        assert heard == []
        metadata.notice = True
        until(lambda: bool(heard))
        seen = len(loopback.asked)
        time.sleep(0.1)
        assert (heard, len(loopback.asked)) == (["spot terminate"], seen)


def test_the_metadata_is_asked_with_one_token_and_a_new_one_when_it_has_expired() -> None:
    metadata = Metadata()
    with watching(metadata) as (loopback, heard):
        until(lambda: len(loopback.asked) > 4)
        assert [a.method for a in loopback.asked].count("PUT") == 1
        metadata.token, metadata.notice = "t2", True
        until(lambda: bool(heard))
        assert [a.method for a in loopback.asked].count("PUT") == 2


def test_a_host_without_metadata_is_no_reason_to_leave() -> None:
    heard: list[str] = []
    watch = SpotWatch(heard.append, "http://127.0.0.1:1", every=0.01)
    watch.start()
    time.sleep(0.1)
    watch.close()
    assert heard == []


def test_the_sigterm_that_follows_a_spot_notice_does_not_cut_the_drain_short() -> None:
    stop = Stop(100)
    stop.ask("spot terminate")
    stop.ask("SIGTERM")
    assert (stop.asked, stop.over) == (True, False)
    stop.ask("SIGTERM")
    assert stop.over


def states(loopback: Loopback) -> list[bool]:
    return [json.loads(a.body)["ProtectionEnabled"] for a in loopback.asked]


@contextmanager
def protecting(
    answer: Callable[[Asked], tuple[int, bytes]] = lambda _: (200, b'{"protection": {}}'),
    renew_after: float = 60,
) -> Iterator[tuple[Loopback, Protection]]:
    with served(answer) as loopback:
        protection = Protection(f"{loopback.url}/api/abc", renew_after=renew_after, retry_after=0.1)
        protection.start()
        yield loopback, protection
        protection.close()


def test_a_worker_is_protected_while_it_holds_a_task_and_not_before_or_after() -> None:
    with protecting() as (loopback, protection):
        protection.release()
        time.sleep(0.1)
        assert loopback.asked == []
        protection.hold()
        until(lambda: len(loopback.asked) == 1)
        asked = loopback.asked[0]
        assert (asked.method, asked.path) == ("PUT", "/api/abc/task-protection/v1/state")
        assert json.loads(asked.body) == {"ProtectionEnabled": True, "ExpiresInMinutes": 10}
        protection.release()
        until(lambda: states(loopback) == [True, False])


def test_tasks_one_after_another_cost_one_call_to_the_agent() -> None:
    with protecting() as (loopback, protection):
        for _ in range(50):
            protection.hold()
            time.sleep(0.002)
        until(lambda: len(loopback.asked) == 1)
    assert states(loopback) == [True, False]


def test_protection_is_renewed_by_beats_and_lapses_without_them() -> None:
    with protecting(renew_after=0.1) as (loopback, protection):
        began = time.monotonic()
        for _ in range(25):
            protection.hold()
            time.sleep(0.02)
        renewed = len(loopback.asked)
        assert 3 <= renewed <= (time.monotonic() - began) / 0.1 + 2
        time.sleep(0.3)
        assert len(loopback.asked) <= renewed + 1


@pytest.mark.parametrize(
    "answer", [(500, b"oops"), (200, b'{"failure": {"Reason": "TASK_NOT_VALID"}}'), (404, b"")]
)
def test_an_agent_that_fails_is_asked_again_and_holds_nobody_up(answer: tuple[int, bytes]) -> None:
    answers = [answer, answer, (200, b'{"protection": {}}')]
    with protecting(lambda _: answers.pop(0) if len(answers) > 1 else answers[0]) as (
        loopback,
        protection,
    ):
        began = time.monotonic()
        protection.hold()
        assert time.monotonic() - began < 1
        until(lambda: len(loopback.asked) == 3)
    assert states(loopback) == [True, True, True, False]


def test_an_agent_that_hangs_does_not_keep_the_worker_from_leaving() -> None:
    free = threading.Event()

    def hang(_: Asked) -> tuple[int, bytes]:
        free.wait(10)
        return 200, b"{}"

    with served(hang) as loopback:
        protection = Protection(loopback.url)
        protection.start()
        protection.hold()
        until(lambda: len(loopback.asked) == 1)
        began = time.monotonic()
        protection.close()
        assert time.monotonic() - began < 4
        free.set()


def test_without_an_agent_nothing_is_done() -> None:
    protection = Protection(None)
    protection.start()
    protection.hold()
    protection.close()
    assert not protection._thread.is_alive()
