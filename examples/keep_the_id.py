"""Waits for a picture, and may be killed meanwhile: ``python keep_the_id.py order-7``.

The name of your order is the Idempotency-Key. Run it again with the same name and it finds the same
task, whatever became of the first run, and pays for no second one.
"""

from __future__ import annotations

import sys

from taskgate.client import Taskgate


def main(order: str) -> None:
    """Submit or find the task, tell its id, wait, and save the picture in a folder."""
    with Taskgate() as taskgate:
        given = {"prompt": f"a parcel for {order}", "steps": 10, "step_ms": 500}
        task = taskgate.submit("text_to_image", given, idempotency_key=order)
        print(task.id, flush=True)  # before the wait: whoever is killed has not lost it
        task.wait(timeout=300)
        print(*task.download(order))


if __name__ == "__main__":
    main(sys.argv[1])
