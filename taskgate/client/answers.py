"""From the gateway's JSON to the client's types.

A newer gateway may say more than this client knows: unknown fields are left out, so that an old
client goes on working. What is missing though it must be there raises `KeyError`.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from taskgate.client.models import (
    Callback,
    Cancel,
    Child,
    Delivery,
    Explanation,
    HistoryEntry,
    Pool,
    Queue,
    Result,
    ResultFile,
    Stats,
    Task,
    TaskError,
    TaskType,
    Workers,
)


def task_of(body: Mapping[str, Any]) -> Task:
    """A task from the gateway's JSON, whole or light."""
    return Task(
        id=str(body["id"]),
        type=str(body.get("type", "")),
        state=str(body.get("state", "")),
        attempt=int(body.get("attempt") or 0),
        progress=float(body.get("progress") or 0.0),
        stage=str(body.get("stage") or ""),
        created_at=time_of(body.get("created_at")),
        run_at=time_of(body.get("run_at")),
        started_at=time_of(body.get("started_at")),
        ended_at=time_of(body.get("ended_at")),
        error=_error_of(body.get("error")),
        history=tuple(_entry_of(e) for e in body.get("history") or ()),
        result=result_of(body["result"]) if body.get("result") else None,
        cancel=_cancel_of(body["cancel"]) if body.get("cancel") else None,
        outcome=body.get("outcome"),
        metadata=dict(body.get("metadata") or {}),
        callback=callback_of(body["callback"]) if body.get("callback") else None,
        expired=bool(body.get("expired")),
        parent=body.get("parent"),
        reused_from=body.get("reused_from"),
        trace_id=body.get("trace_id"),
        children=tuple(
            Child(str(c["id"]), c.get("type"), c.get("state")) for c in body.get("children") or ()
        ),
        chain=(body.get("chain") or {}).get("state"),
        raw=body,
    )


def callback_of(body: Mapping[str, Any]) -> Callback:
    """A callback with its latest attempts."""
    return Callback(
        url=str(body.get("url", "")),
        events=tuple(map(str, body.get("events") or ())),
        state=str(body["state"]),
        tries=int(body.get("tries") or 0),
        next_try_at=time_of(body.get("next_try_at")),
        latest=tuple(map(_delivery_of, body.get("latest") or ())),
    )


def secrets_of(body: Mapping[str, Any]) -> tuple[str, ...]:
    return tuple(map(str, body["secrets"]))


def result_of(body: Mapping[str, Any]) -> Result:
    """A result from its manifest."""
    return Result(tuple(_file_of(f) for f in body.get("files") or ()), body.get("output"))


def page_of(body: Mapping[str, Any]) -> tuple[tuple[Task, ...], str | None]:
    """The tasks of one page of a list, and the cursor of the next."""
    return tuple(map(task_of, body["tasks"])), body.get("next_cursor")


def explanation_of(body: Mapping[str, Any]) -> Explanation:
    """Why a task is where it is."""
    holder, limit = body.get("holder") or {}, body.get("next_limit") or {}
    return Explanation(
        id=str(body["id"]),
        state=str(body["state"]),
        why=str(body.get("why", "")),
        waits_for=body.get("waits_for"),
        sentences=tuple(map(str, body.get("sentences") or ())),
        actions=tuple(map(str, body.get("actions") or ())),
        next_look_by=time_of((body.get("next_look") or {}).get("by")),
        next_limit=limit.get("name"),
        next_limit_at=time_of(limit.get("at")),
        worker=holder.get("worker"),
        last_sign_at=time_of(holder.get("last_sign_at")),
        waiting=(body.get("lane") or {}).get("waiting"),
        owes=tuple(map(str, (body.get("owes") or {}).get("duties") or ())),
        raw=body,
    )


def workers_of(body: Mapping[str, Any]) -> Workers:
    states = ("idle", "busy", "draining", "lost")
    pools = (Pool(str(p["pool"]), *(int(p[state]) for state in states)) for p in body["pools"])
    each = body.get("workers")
    return Workers(tuple(pools), None if each is None else tuple(map(dict, each)))


def queues_of(body: Mapping[str, Any]) -> tuple[Queue, ...]:
    return tuple(
        Queue(str(q["lane"]), str(q["pool"]), str(q["priority"]), int(q["waiting"]))
        for q in body["queues"]
    )


def task_types_of(body: Mapping[str, Any]) -> tuple[TaskType, ...]:
    return tuple(
        TaskType(str(t["name"]), str(t.get("title", "")), dict(t.get("input_schema") or {}))
        for t in body["task_types"]
    )


def stats_of(body: Mapping[str, Any]) -> Stats:
    def count(name: str) -> int:
        return int(body.get(name) or 0)

    return Stats(
        active=count("active"),
        submitted=count("submitted"),
        succeeded=count("succeeded"),
        failed=count("failed"),
        timed_out=count("timed_out"),
        canceled=count("canceled"),
        mean_wait_seconds=body.get("mean_wait_seconds"),
        mean_run_seconds=body.get("mean_run_seconds"),
    )


def time_of(text: object) -> datetime | None:
    """An RFC 3339 time; None for what is not one, since no display is worth a crash."""
    try:
        return datetime.fromisoformat(text) if isinstance(text, str) else None
    except ValueError:
        return None


def _delivery_of(body: Mapping[str, Any]) -> Delivery:
    return Delivery(
        at=time_of(body.get("at")),
        status=body.get("status"),
        ms=int(body.get("ms") or 0),
        reason=str(body.get("reason", "")),
        detail=str(body.get("detail") or ""),
    )


def _cancel_of(body: Mapping[str, Any]) -> Cancel:
    return Cancel(
        mode=str(body["mode"]),
        asked_at=time_of(body.get("asked_at")),
        asked_by=str(body.get("asked_by") or ""),
        seen_at=time_of(body.get("seen_at")),
        stopped_at=time_of(body.get("stopped_at")),
        enforced=bool(body.get("enforced")),
        kept_until=time_of(body.get("kept_until")),
        given_to=body.get("given_to"),
    )


def _entry_of(body: Mapping[str, Any]) -> HistoryEntry:
    return HistoryEntry(
        at=time_of(body.get("at")),
        verb=str(body.get("verb", "")),
        before=body.get("from"),
        to=str(body.get("to", "")),
        attempt=int(body.get("attempt") or 0),
        actor=str(body.get("actor", "")),
        reason=str(body.get("reason") or ""),
        folded=int(body.get("folded") or 0),
    )


def _error_of(body: Mapping[str, Any] | None) -> TaskError | None:
    if not body:
        return None
    return TaskError(
        code=str(body.get("code", "")),
        message=str(body.get("message", "")),
        error_class=str(body.get("class", "")),
        retryable=bool(body.get("retryable")),
    )


def _file_of(body: Mapping[str, Any]) -> ResultFile:
    return ResultFile(
        name=str(body["name"]),
        size=int(body.get("size") or 0),
        sha256=str(body.get("sha256", "")),
        content_type=str(body.get("content_type", "")),
        url=str(body.get("url", "")),
    )
