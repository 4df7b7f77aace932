"""Each route of this room as its caller should understand it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from functions.http.operation import READS, TASK_ID, Answered, Operation
from taskgate import errors

OPERATIONS: Final[Mapping[tuple[str, str], Operation]] = {
    ("GET", "/v1/admin/tasks/{task_id}"): Operation(
        name="findTask",
        scope="admin",
        summary="Anybody's task, whole, with its tenant and user",
        about="However long ago it ended. It is steered by the same routes as one's own:"
        " `/v1/tasks/{task_id}/cancel` and so on; the history then names the operator.",
        parameters=(TASK_ID,),
        answers={200: Answered("The task.", "AdminTask")},
        refuses=(*READS, errors.TaskNotFound),
    ),
}
