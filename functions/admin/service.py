"""The admin room: each of its routes and the verb that serves it."""

from __future__ import annotations

from typing import Final

from functions.admin import bulk, keys, lists, plans, receivers, reconcile, switches, tasks
from functions.admin.desk import Desk
from functions.http.service import Verbs

VERBS: Final[Verbs[Desk]] = {
    ("GET", "/v1/admin/tasks"): lists.unsettled,
    ("GET", "/v1/admin/tasks/{task_id}"): tasks.get,
    ("GET", "/v1/admin/problems"): lists.problems,
    ("GET", "/v1/admin/ledgers/{tenant}/{user}"): tasks.ledger,
    ("GET", "/v1/admin/receivers"): receivers.listed,
    ("POST", "/v1/admin/keys"): keys.issue,
    ("GET", "/v1/admin/keys"): keys.listed,
    ("GET", "/v1/admin/keys/{key_id}"): keys.get,
    ("POST", "/v1/admin/keys/{key_id}/rotate"): keys.rotate,
    ("POST", "/v1/admin/keys/{key_id}/revoke"): keys.revoke,
    ("GET", "/v1/admin/plans"): plans.listed,
    ("PATCH", "/v1/admin/plans/{plan}"): plans.change,
    ("POST", "/v1/admin/bulk"): bulk.plan,
    ("GET", "/v1/admin/bulk"): bulk.listed,
    ("GET", "/v1/admin/bulk/{bulk_id}"): bulk.get,
    ("POST", "/v1/admin/bulk/{bulk_id}/confirm"): bulk.confirm,
    ("POST", "/v1/admin/bulk/{bulk_id}/stop"): bulk.stop,
    ("GET", "/v1/admin/switches"): switches.listed,
    ("POST", "/v1/admin/switches/pause"): switches.pause,
    ("POST", "/v1/admin/switches/resume"): switches.resume,
    ("GET", "/v1/admin/reconcile"): reconcile.last,
    ("POST", "/v1/admin/reconcile"): reconcile.ask,
}
