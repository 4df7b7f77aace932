"""Tasks in many states, so that requests for one meet more than 404."""

from __future__ import annotations

from pathlib import Path

from taskgate.principal import Principal
from tests.unit.functions.api_world import GHOST, PROMPT, ApiWorld


def seeded(api: ApiWorld, folder: Path, caller: Principal) -> list[str]:
    """Ids of the caller's tasks: ended well and badly, waiting, running, suspected, canceled."""
    with_files = api.submitted(caller=caller)
    api.succeed(api.claim(), folder, "one.png", "two.png", output='{"seed":7}')
    without_files = api.submitted(caller=caller)
    api.succeed(api.claim(), folder, output='{"words":[1,2]}')
    failed = api.submitted(caller=caller)
    api.fail(api.claim())
    running = api.submitted(caller=caller)
    api.claim()
    stalled = api.stalled(caller)
    api.post(f"/v1/tasks/{running}/extend", {"seconds": 600}, caller)
    canceled = api.submitted(caller=caller)
    api.post(f"/v1/tasks/{canceled}/cancel", caller=caller)
    waiting = api.submitted(caller=caller)
    scheduled = api.submitted({**PROMPT, "delay": 3600}, caller)
    ended = [with_files, without_files, failed, canceled]
    return [*ended, running, stalled, waiting, scheduled, GHOST]
