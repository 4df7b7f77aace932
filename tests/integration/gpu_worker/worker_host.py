"""A worker process of its own over ports in memory, for tests that send it signals.

``python worker_host.py SCRATCH JSON``: JSON names the drain and the acts to submit. Its log lines go
to standard output; the last one tells how the tasks are.
"""

from __future__ import annotations

import json
import sys
import threading
import time
from pathlib import Path
from typing import Any

from worker_world import WorkerWorld

from gpu_worker.logs import log_to_stdout
from gpu_worker.supervisor import Supervisor
from taskgate.events import event


def main(scratch: str, wanted: dict[str, Any]) -> int:
    # Some library's thread, started before we listen for signals; it must not die of them.
    threading.Thread(target=time.sleep, args=(3600,), daemon=True).start()
    log_to_stdout("host-worker")
    world = WorkerWorld(Path(scratch))
    tasks = [world.submit(**act) for act in wanted["acts"]]
    place = world.place(drain=wanted["drain"])
    place.stop.listen()
    code = Supervisor(place).serve()
    for task_id in tasks:
        task = world.task(task_id)
        event("final", task=task_id, state=task.state, checkpoint=task.checkpoint,
              interruptions=task.budgets.interruptions.spent,
              waiting=world.memory.lanes.waiting(task.lane))  # fmt: skip
    return code


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], json.loads(sys.argv[2])))
