"""The promises that a smoke run tries, in the order in which they build on one another."""

from __future__ import annotations

import tempfile
import time
import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, Final

import httpx

from taskgate.client import NotFound, Refused, Taskgate, TaskHandle, WaitTimeout

KIND: Final = "embed_document"
INPUT: Final = {"text": "A smoke test is a promise that is kept where it counts."}
RESULT_SECONDS: Final = 300
CALLBACK_SECONDS: Final = 90
Promise = tuple[str, Callable[[], None]]


class Broken(Exception):
    """What was found instead."""


@dataclass
class Smoke:
    """One run: whom it tries, with what, and what it has made."""

    client: Taskgate
    url: str
    key: str
    pending: int | None
    worker: bool
    callback_url: str
    made: list[TaskHandle] = field(default_factory=list)

    def submit(self, **options: Any) -> TaskHandle:
        """A task of this run, which will be cleaned up."""
        handle = self.client.submit(KIND, options.pop("given", INPUT), **options)
        if handle.id not in {task.id for task in self.made}:
            self.made.append(handle)
        return handle

    @property
    def bearer(self) -> dict[str, str]:
        """The header with this run's key."""
        return {"Authorization": f"Bearer {self.key}"}

    def clean_up(self) -> None:
        """End whatever is left."""
        for handle in self.made:
            handle.cancel("hard", "the smoke run is over")

    def ask(self, method: str, path: str, **more: Any) -> httpx.Response:
        """A request as it is, without the SDK."""
        return httpx.request(method, f"{self.url}{path}", timeout=30, trust_env=False, **more)


def promises(smoke: Smoke) -> Iterator[Promise]:
    """Each with what it says; those that cannot be tried here are left out."""
    yield "it answers, and describes itself", lambda: _answers(smoke)
    yield "a wrong key is refused", lambda: _refuses_a_wrong_key(smoke)
    yield "a bad input is refused, and the field is named", lambda: _names_the_field(smoke)
    yield "a task is accepted, told of and explained", lambda: _accepts(smoke)
    yield "the same key finds the same task, another body is refused", lambda: _replays(smoke)
    if smoke.worker:
        yield "it runs, and its result is what was promised", lambda: _brings_a_result(smoke)
    yield "a canceled task is canceled, however often", lambda: _cancels(smoke)
    yield "its end is announced, and the attempt is on record", lambda: _announces(smoke)
    if smoke.pending:
        yield f"no more than {smoke.pending} tasks may be unfinished", lambda: _limits(smoke)
    yield "an unknown id is 404", lambda: _knows_its_own(smoke)
    yield "every task is accounted for", lambda: _accounts(smoke)


def _answers(smoke: Smoke) -> None:
    _expect(smoke.ask("GET", "/healthz").status_code, 200)
    _expect(smoke.ask("GET", "/openapi.json").json()["openapi"][:2], "3.")
    if KIND not in {kind.name for kind in smoke.client.task_types()}:
        raise Broken(f"there is no task type {KIND}")


def _refuses_a_wrong_key(smoke: Smoke) -> None:
    headers = {"Authorization": f"Bearer {smoke.key[:16]}{'x' * 43}"}
    _expect(smoke.ask("GET", "/v1/stats", headers=headers).status_code, 401)


def _names_the_field(smoke: Smoke) -> None:
    refused = _refused(lambda: smoke.submit(given={"text": "x", "no_such_field": 1}))
    _expect(refused.status, 422)
    if not any("no_such_field" in problem.field for problem in refused.fields):
        raise Broken(f"the field is not named: {refused}")


def _accepts(smoke: Smoke) -> None:
    handle = smoke.submit(idempotency_key=f"smoke-{uuid.uuid4().hex}")
    _expect(handle.status().id, handle.id)
    _expect(handle.get().history[0].verb, "submit")
    if not handle.explain().why:
        raise Broken("it cannot say why the task is where it is")


def _replays(smoke: Smoke) -> None:
    first = smoke.made[0]
    again = smoke.submit(idempotency_key=first.idempotency_key)
    _expect((again.id, again.replayed), (first.id, True))
    other = {"text": "another body"}
    refused = _refused(lambda: smoke.submit(given=other, idempotency_key=first.idempotency_key))
    _expect(refused.status, 422)


def _brings_a_result(smoke: Smoke) -> None:
    try:
        _expect(smoke.made[0].wait(RESULT_SECONDS).state, "succeeded")
    except WaitTimeout:
        raise Broken(f"no end within {RESULT_SECONDS} s; is a worker up?") from None
    with tempfile.TemporaryDirectory() as folder:
        if not smoke.made[0].download(folder):  # each file is checked against its sha256
            raise Broken("the result has no file")


def _cancels(smoke: Smoke) -> None:
    handle = smoke.submit(
        delay=3600, callback_url=smoke.callback_url, callback_events=["task.canceled"]
    )
    _expect(handle.cancel().state, "canceled")
    _expect(handle.cancel().state, "canceled")


def _announces(smoke: Smoke) -> None:
    handle, give_up = smoke.made[-1], time.monotonic() + CALLBACK_SECONDS
    while not handle.callback().tries:
        if time.monotonic() > give_up:
            raise Broken(f"no attempt within {CALLBACK_SECONDS} s")
        time.sleep(1)
    tried = handle.callback().latest[-1]
    if tried.status is None:
        raise Broken(f"the receiver was not reached: {tried.reason}")


def _limits(smoke: Smoke) -> None:
    active = smoke.client.stats().active
    waiting = [smoke.submit(delay=3600) for _ in range((smoke.pending or 0) - active)]
    body = {"type": KIND, "input": INPUT, "delay": 3600}
    # Not by the SDK, which would wait and try again.
    answer = smoke.ask("POST", "/v1/tasks", json=body, headers=smoke.bearer)
    _expect((answer.status_code, answer.json()["code"]), (429, "too_many_pending_tasks"))
    for handle in waiting:
        handle.cancel()
    _expect(smoke.submit(delay=3600).cancel().state, "canceled")


def _knows_its_own(smoke: Smoke) -> None:
    try:
        smoke.client.get("task_01ARZ3NDEKTSV4RRFFQ69G5FAV")
    except NotFound:
        return
    raise Broken("a task that nobody made was found")


def _accounts(smoke: Smoke) -> None:
    books = smoke.client.stats()
    if not books.balanced or books.submitted < len(smoke.made):
        raise Broken(f"the books do not hold: {books}")


def _refused(act: Callable[[], object]) -> Refused:
    try:
        act()
    except Refused as refused:
        return refused
    raise Broken("it was taken")


def _expect(found: object, wanted: object) -> None:
    if found != wanted:
        raise Broken(f"{found!r} instead of {wanted!r}")
