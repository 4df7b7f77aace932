"""The client itself."""

from __future__ import annotations

import os
import uuid
from collections.abc import Iterable, Iterator, Mapping
from http import HTTPStatus
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self

import httpx

from taskgate.client.answers import (
    explanation_of,
    page_of,
    queues_of,
    result_of,
    stats_of,
    task_of,
    task_types_of,
    workers_of,
)
from taskgate.client.backoff import Backoff
from taskgate.client.callbacks import Callbacks, Then, events_of, follow_ups
from taskgate.client.downloading import download
from taskgate.client.errors import NotConfigured, Refused
from taskgate.client.handle import OnSubmit, OnUpdate, TaskHandle
from taskgate.client.models import Explanation, Queue, Result, Stats, Task, TaskType, Workers
from taskgate.client.steering import Steering
from taskgate.client.transport import Transport, task_path, understood
from taskgate.client.uploading import Uploads
from taskgate.client.watching import Clock, Watch
from taskgate.client.writing import Moment, Span, fields_of, filters, moment_text, seconds_of

PAGE: Final = 50


class Taskgate(Steering, Callbacks, Uploads):
    """A Taskgate gateway. Safe to share between threads; close it, or use it in a ``with``.

    Address and key come from the arguments or from ``TASKGATE_URL`` and ``TASKGATE_API_KEY``.
    """

    def __init__(
        self,
        base_url: str | None = None,
        api_key: str | None = None,
        *,
        backoff: Backoff | None = None,
        clock: Clock | None = None,
        transport: httpx.BaseTransport | None = None,
    ) -> None:
        self._clock = clock or Clock()
        self._transport = Transport(
            _setting(base_url, "TASKGATE_URL", "The gateway's address"),
            _setting(api_key, "TASKGATE_API_KEY", "The API key"),
            backoff=backoff,
            sleep=self._clock.sleep,
            transport=transport,
        )

    def submit(
        self,
        type: str,  # noqa: A002 - the word of the API
        input: Mapping[str, Any],  # noqa: A002
        *,
        priority: str = "normal",
        metadata: Mapping[str, str] | None = None,
        run_at: Moment | None = None,
        delay: Span | None = None,
        expected_seconds: int | None = None,
        timeouts: Mapping[str, int] | None = None,
        callback_url: str | None = None,
        callback_events: str | Iterable[str] | None = None,
        then: Then = (),
        idempotency_key: str | None = None,
        reuse: bool = True,
        traceparent: str | None = None,
        tracestate: str | None = None,
    ) -> TaskHandle:
        """Hand a task in. Once this returns, the task is on record and will end.

        It starts at `run_at` or after `delay` (seconds or a timedelta), else at once. `timeouts`
        are of `queue_seconds`, `run_seconds` and `deadline_seconds`. Its end is posted to
        `callback_url`; `then` are the tasks that follow once it has succeeded. Without `reuse` it is
        computed anew, even if the gateway keeps a result of the same input. With `traceparent` (and
        `tracestate`) the task goes on with your trace.

        The Idempotency-Key is settled before the first try, so that a lost answer never makes a
        second task. Pass your own to make the same true over restarts of your program.
        """
        key = idempotency_key or uuid.uuid4().hex
        body = {
            "type": type,
            "input": fields_of(input),
            "priority": priority,
            "metadata": dict(metadata) if metadata else None,
            "run_at": None if run_at is None else moment_text(run_at),
            "delay": None if delay is None else seconds_of(delay),
            "expected_seconds": expected_seconds,
            "timeouts": dict(timeouts) if timeouts else None,
            "callback_url": callback_url,
            "callback_events": events_of(callback_events),
            "then": follow_ups(then) or None,
            "reuse": None if reuse else False,
        }
        headers = {"Idempotency-Key": key, **_trace_headers(traceparent, tracestate)}
        return self._submitted(key, body, headers)

    def run(
        self,
        type: str,  # noqa: A002
        input: Mapping[str, Any],  # noqa: A002
        *,
        timeout: float | None = None,
        **options: Any,
    ) -> Result:
        """Submit, wait, and return the result; `TaskEnded` when there is none."""
        return self.subscribe(type, input, timeout=timeout, **options)

    def subscribe(
        self,
        type: str,  # noqa: A002
        input: Mapping[str, Any],  # noqa: A002
        *,
        on_submit: OnSubmit | None = None,
        on_update: OnUpdate | None = None,
        timeout: float | None = None,
        **options: Any,
    ) -> Result:
        """Like `run`, and tells `on_submit` the handle first, then `on_update` each look."""
        handle = self.submit(type, input, **options)
        if on_submit:
            on_submit(handle)
        handle.wait(timeout, on_update)
        return handle.result()

    def handle(self, task_id: str) -> TaskHandle:
        """A handle on a task that is on record already; asks nothing yet."""
        return TaskHandle(self, task_id)

    def get(self, task_id: str) -> Task:
        """The whole task, with its history."""
        return self._transport.ask(task_of, "GET", task_path(task_id))

    def status(self, task_id: str) -> Task:
        """The task now, light: state, attempt, progress and stage."""
        return self._transport.ask(task_of, "GET", task_path(task_id, "/status"))

    def updates(
        self, task_id: str, timeout: float | None = None, *, until_ended: bool = False
    ) -> Iterator[Task]:
        """The task at each look until it has ended, as often as the gateway asks for.

        The gateway holds its answers back until something has changed, or with `until_ended`
        until the task has ended: fewer looks, and no progress between.
        """
        watch = Watch(
            self._transport,
            task_id,
            timeout=timeout,
            clock=self._clock,
            until_ended=until_ended,
        )
        return watch.updates()

    def result(self, task_id: str) -> Result:
        """What the task brought, with fresh URLs; `TaskEnded` when it ended without a result."""
        path = task_path(task_id, "/result")
        try:
            return self._transport.ask(result_of, "GET", path, params={"inline": "true"})
        except Refused as refused:
            bad = self.get(task_id).bad_end() if refused.status == HTTPStatus.CONFLICT else None
            raise bad or refused from None

    def download(self, task_id: str, folder: str | Path = ".") -> list[Path]:
        """The result's files in the folder, each checked against its sha256."""
        return [download(file, Path(folder)) for file in self.result(task_id).files]

    def list(
        self,
        page_size: int = PAGE,
        *,
        state: str | Iterable[str] | None = None,
        type: str | None = None,  # noqa: A002 - the word of the API
        since: Moment | None = None,
        until: Moment | None = None,
        metadata: Mapping[str, str] | None = None,
    ) -> Iterator[Task]:
        """Your tasks, newest first, all pages; take as many as you need.

        Of these states or this one, this type, created since and before until, with these labels.
        """
        wanted = filters(state, type, since, until, metadata)
        params: dict[str, str | int] = {"limit": page_size, **wanted}
        while True:
            tasks, cursor = self._transport.ask(page_of, "GET", "/v1/tasks", params=params)
            yield from tasks
            if not cursor:
                return
            params["cursor"] = cursor

    def explain(self, task_id: str) -> Explanation:
        """Why a task is where it is, what it waits for, and when the gateway looks next."""
        return self._transport.ask(explanation_of, "GET", task_path(task_id, "/explain"))

    def queues(self) -> tuple[Queue, ...]:
        """About how many wait in each lane. Operators only."""
        return self._transport.ask(queues_of, "GET", "/v1/queues")

    def workers(self) -> Workers:
        """How many workers each pool has; to operators, each worker and what it runs."""
        return self._transport.ask(workers_of, "GET", "/v1/workers")

    def stats(self) -> Stats:
        """Your books: how many tasks are where, and how long they took."""
        return self._transport.ask(stats_of, "GET", "/v1/stats")

    def task_types(self) -> tuple[TaskType, ...]:
        """The kinds of work that this gateway takes, with the JSON Schema of their input."""
        return self._transport.ask(task_types_of, "GET", "/v1/task-types")

    def close(self) -> None:
        """Close the connections."""
        self._transport.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def _submitted(
        self, key: str, body: Mapping[str, Any], headers: Mapping[str, str]
    ) -> TaskHandle:
        given = {name: value for name, value in body.items() if value is not None}
        response = self._transport.send("POST", "/v1/tasks", body=given, headers=headers)
        replayed = response.headers.get("idempotent-replayed", "").lower() == "true"
        task = understood(response, task_of)
        return TaskHandle(self, task.id, idempotency_key=key, submitted=task, replayed=replayed)


def _setting(given: str | None, variable: str, what: str) -> str:
    value = given or os.environ.get(variable, "")
    if not value:
        raise NotConfigured(f"{what} is missing: pass it, or set {variable}.")
    return value


def _trace_headers(traceparent: str | None, tracestate: str | None) -> Mapping[str, str]:
    headers = {"traceparent": traceparent, "tracestate": tracestate}
    return {name: text for name, text in headers.items() if text}
