"""The HTTP routes, once: the stack makes exactly these, and the rooms serve exactly these.

Routes are explicit, without a catch-all, so that an unknown path costs no function call.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class Route:
    """One method of one path, written as HTTP API writes it: ``/v1/tasks/{task_id}``."""

    method: str
    path: str
    public: bool = False
    """A public route is served without an API key."""
    room: str = "api"
    """The function that serves it."""


ROUTES: Final = (
    Route("POST", "/v1/tasks"),
    Route("GET", "/v1/tasks"),
    Route("GET", "/v1/tasks/{task_id}"),
    Route("GET", "/v1/tasks/{task_id}/status"),
    Route("GET", "/v1/tasks/{task_id}/result"),
    Route("GET", "/v1/tasks/{task_id}/explain"),
    Route("POST", "/v1/tasks/{task_id}/cancel"),
    Route("POST", "/v1/tasks/{task_id}/reschedule"),
    Route("POST", "/v1/tasks/{task_id}/priority"),
    Route("POST", "/v1/tasks/{task_id}/extend"),
    Route("POST", "/v1/tasks/{task_id}/recover"),
    Route("POST", "/v1/tasks/{task_id}/fail"),
    Route("POST", "/v1/tasks/{task_id}/pause"),
    Route("POST", "/v1/tasks/{task_id}/resume"),
    Route("POST", "/v1/tasks/{task_id}/retry"),
    Route("GET", "/v1/tasks/{task_id}/callback"),
    Route("POST", "/v1/tasks/{task_id}/callback/redeliver"),
    Route("GET", "/v1/webhook-secrets"),
    Route("POST", "/v1/uploads"),
    Route("GET", "/v1/task-types"),
    Route("GET", "/v1/stats"),
    Route("GET", "/v1/queues"),
    Route("GET", "/v1/workers"),
    Route("GET", "/v1/admin/tasks", room="admin"),
    Route("GET", "/v1/admin/tasks/{task_id}", room="admin"),
    Route("GET", "/v1/admin/problems", room="admin"),
    Route("GET", "/v1/admin/ledgers/{tenant}/{user}", room="admin"),
    Route("GET", "/v1/admin/receivers", room="admin"),
    Route("POST", "/v1/admin/keys", room="admin"),
    Route("GET", "/v1/admin/keys", room="admin"),
    Route("GET", "/v1/admin/keys/{key_id}", room="admin"),
    Route("POST", "/v1/admin/keys/{key_id}/rotate", room="admin"),
    Route("POST", "/v1/admin/keys/{key_id}/revoke", room="admin"),
    Route("GET", "/v1/admin/plans", room="admin"),
    Route("PATCH", "/v1/admin/plans/{plan}", room="admin"),
    Route("POST", "/v1/admin/bulk", room="admin"),
    Route("GET", "/v1/admin/bulk", room="admin"),
    Route("GET", "/v1/admin/bulk/{bulk_id}", room="admin"),
    Route("POST", "/v1/admin/bulk/{bulk_id}/confirm", room="admin"),
    Route("POST", "/v1/admin/bulk/{bulk_id}/stop", room="admin"),
    Route("GET", "/v1/admin/switches", room="admin"),
    Route("POST", "/v1/admin/switches/pause", room="admin"),
    Route("POST", "/v1/admin/switches/resume", room="admin"),
    Route("GET", "/v1/admin/reconcile", room="admin"),
    Route("POST", "/v1/admin/reconcile", room="admin"),
    Route("GET", "/openapi.json", public=True),
    Route("GET", "/docs", public=True),
    Route("GET", "/healthz", public=True),
)
