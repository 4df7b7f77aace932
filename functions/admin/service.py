"""The admin room: each of its routes and the verb that serves it."""

from __future__ import annotations

from typing import Final

from functions.admin import keys, lists, plans, receivers, tasks
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
}
