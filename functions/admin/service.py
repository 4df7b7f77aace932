"""The admin room: each of its routes and the verb that serves it."""

from __future__ import annotations

from typing import Final

from functions.admin import tasks
from functions.admin.desk import Desk
from functions.http.service import Verbs

VERBS: Final[Verbs[Desk]] = {
    ("GET", "/v1/admin/tasks/{task_id}"): tasks.get,
}
