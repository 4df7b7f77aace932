"""The API: each of its routes and the verb that serves it."""

from __future__ import annotations

from typing import Final

from functions.api import (
    callbacks,
    explanations,
    fleet,
    lists,
    pages,
    results,
    status,
    tasks,
    uploads,
    verbs,
)
from functions.api.desk import Desk
from functions.http.service import Verbs

VERBS: Final[Verbs[Desk]] = {
    ("POST", "/v1/tasks"): tasks.submit,
    ("GET", "/v1/tasks"): lists.listed,
    ("GET", "/v1/tasks/{task_id}"): tasks.get,
    ("GET", "/v1/tasks/{task_id}/status"): status.status,
    ("GET", "/v1/tasks/{task_id}/result"): results.result,
    ("GET", "/v1/tasks/{task_id}/explain"): explanations.explain,
    ("POST", "/v1/tasks/{task_id}/cancel"): tasks.cancel,
    ("POST", "/v1/tasks/{task_id}/reschedule"): verbs.reschedule,
    ("POST", "/v1/tasks/{task_id}/priority"): verbs.prioritize,
    ("POST", "/v1/tasks/{task_id}/extend"): verbs.extend,
    ("POST", "/v1/tasks/{task_id}/recover"): verbs.recover,
    ("POST", "/v1/tasks/{task_id}/fail"): verbs.fail,
    ("POST", "/v1/tasks/{task_id}/pause"): verbs.pause,
    ("POST", "/v1/tasks/{task_id}/resume"): verbs.resume,
    ("POST", "/v1/tasks/{task_id}/retry"): verbs.retry,
    ("GET", "/v1/tasks/{task_id}/callback"): callbacks.attempts,
    ("POST", "/v1/tasks/{task_id}/callback/redeliver"): callbacks.redeliver,
    ("GET", "/v1/webhook-secrets"): callbacks.secrets,
    ("POST", "/v1/uploads"): uploads.begin,
    ("GET", "/v1/task-types"): pages.task_types,
    ("GET", "/v1/stats"): pages.stats,
    ("GET", "/v1/queues"): pages.queues,
    ("GET", "/v1/workers"): fleet.workers,
    ("GET", "/openapi.json"): pages.openapi_json,
    ("GET", "/docs"): pages.docs,
    ("GET", "/healthz"): pages.healthz,
}
