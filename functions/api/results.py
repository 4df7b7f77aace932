"""Results: links and a manifest, never the bytes, which may be larger than any answer."""

from __future__ import annotations

from typing import Any, Final

from aws_lambda_powertools.event_handler import Response

from functions.api.desk import Desk
from functions.http import views
from functions.http.answers import answer, redirect
from functions.http.asked import Asked, yes_or_no
from functions.http.times import when
from taskgate.errors import FieldProblem, ResultFileNotFound
from taskgate.gateway.views import reading
from taskgate.task import ResultFile, Task

LINK_SECONDS: Final = 15 * 60
"""How long a signed URL is good at most; never longer than the credentials that sign it."""


def result(desk: Desk, asked: Asked) -> Response[str]:
    """`GET /v1/tasks/{task_id}/result`: to the file, or with `inline=true` what there is.

    A task whose result has no file answers with its output, as with `inline=true`.
    """
    query = asked.query("file", "inline")
    inline = yes_or_no("inline", query.get("inline", "false"))
    task = reading.finished(desk.ports, asked.principal, asked.task_id, desk.retention)
    if inline or not (task.result or "file" in query):
        return answer(_manifest(desk, task))
    return redirect(_signed(desk, _chosen(task, query.get("file")), _link_seconds(desk)))


def _chosen(task: Task, name: str | None) -> ResultFile:
    for file in task.result:
        if name in (None, file.name):
            return file
    names = ", ".join(file.name for file in task.result) or "none"
    raise ResultFileNotFound(fields=[FieldProblem("file", f"the result's files are: {names}")])


def _manifest(desk: Desk, task: Task) -> dict[str, Any]:
    # The time is taken before signing: the links are good for at least as long as we say.
    now, seconds = desk.ports.now(), _link_seconds(desk) if task.result else 0
    files = [{**views.file(file), "url": _signed(desk, file, seconds)} for file in task.result]
    return {
        "id": task.id,
        "files": files,
        "output": views.parsed(task.output),
        "expires_at": when(now + seconds * 1000) if files else None,
    }


def _link_seconds(desk: Desk) -> int:
    return desk.ports.results.good_for(LINK_SECONDS)


def _signed(desk: Desk, file: ResultFile, seconds: int) -> str:
    return desk.ports.results.sign(file.key, seconds, file.name)
