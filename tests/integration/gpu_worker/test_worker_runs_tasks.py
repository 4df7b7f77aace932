"""From the lane to the result, with a real child process."""

from __future__ import annotations

import pytest
from worker_world import WorkerWorld

from taskgate.lifecycle.states import State


def test_a_task_is_claimed_run_and_its_files_and_output_are_stored(world: WorkerWorld) -> None:
    text = "Grüße\x00\uffff 👩‍🚀 " + "x" * 1000
    task_id = world.submit("echo", text=text)
    world.start()
    task = world.wait_ended(task_id)
    assert task.state is State.SUCCEEDED
    assert world.result(task_id, "echo.txt").decode() == text
    assert world.output(task_id)["text"] == text
    assert world.memory.lanes.total() == 0
