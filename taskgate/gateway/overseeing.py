"""What those see who look after others' tasks: any task by its id."""

from __future__ import annotations

from taskgate.gateway.reading import View, visible
from taskgate.ports import Ports
from taskgate.principal import Principal


def found(ports: Ports, who: Principal, task_id: str) -> View:
    """The task with its pulse, whoever owns it: 1 call. Its time to be told of does not count."""
    who.require("admin")
    task, pulse = ports.tasks.get_with_pulse(task_id)
    task = visible(task, who)
    return View(task, pulse if pulse and pulse.attempt == task.attempt else None)
