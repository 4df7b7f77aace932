"""Tasks in the states that each verb leads out of, so that requests meet more than 404 and 409."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Final

from taskgate.apikeys import id_of, issue
from taskgate.principal import USER_SCOPES, Principal
from tests.unit.functions.api_world import GHOST, OPERATOR, PROMPT, ApiWorld

EACH: Final = 8


def seeded(api: ApiWorld, folder: Path, caller: Principal) -> dict[str, list[str]]:
    """Ids of the caller's tasks by the operation that they are there for; "" for all others."""
    done = [_done(api, folder, caller) for _ in range(EACH)]
    failed = [api.submitted(caller=caller) for _ in range(EACH)]
    for _ in failed:
        api.fail(api.claim())
    held = [_claimed(api, caller) for _ in range(3 * EACH)]
    api.world.clock.advance(50)
    api.sweep()  # all that are held are suspects now
    waiting = [api.submitted(caller=caller) for _ in range(3 * EACH)]
    paused = waiting[:EACH]
    for task_id in paused:
        api.post(f"/v1/tasks/{task_id}/pause", {}, OPERATOR)
    ids = {
        "getResult": done,
        "getCallback": done,
        "redeliverCallback": done,
        "retryTask": failed,
        "extendTask": held[:EACH],
        "recoverTask": held[EACH : 2 * EACH],
        "failTask": held[2 * EACH :],
        "resumeTask": paused,
        "pauseTask": waiting[EACH : 2 * EACH],
        "cancelTask": waiting[2 * EACH :],
        "prioritizeTask": [api.submitted(caller=caller) for _ in range(EACH)],
        "rescheduleTask": [api.submitted({**PROMPT, "delay": 3600}, caller) for _ in range(EACH)],
    }
    return {**ids, "": [GHOST, *(some[0] for some in ids.values())]}


def named(api: ApiWorld, caller: Principal) -> dict[str, dict[str, list[str]]]:
    """What the parameters beside task ids may name. Keys end, so that the verbs have some each."""
    keys = {
        verb: [_key(api, caller) for _ in range(EACH)] for verb in ("", "rotateKey", "revokeKey")
    }
    owner = {"path.tenant": [caller.owner.tenant], "path.user": [caller.owner.user]}
    plans = {"path.plan": ["free", "bulk"]}
    bulks = {
        verb: {"path.bulk_id": [_planned(api, caller) for _ in range(2)]}
        for verb in ("", "confirmBulk", "stopBulk")
    }
    each = {verb: {"path.key_id": ids, **owner, **plans} for verb, ids in keys.items()}
    return {verb: {**each.get(verb, {}), **bulks.get(verb, {})} for verb in {**each, **bulks}}


def _planned(api: ApiWorld, caller: Principal) -> str:
    body = {"act": "cancel", "tenant": "seeded", "reason": "a dry run"}
    return str(
        api.post("/v1/admin/bulk", body, replace(OPERATOR, owner=caller.owner)).json["bulk"]["id"]
    )


def _key(api: ApiWorld, caller: Principal) -> str:
    return id_of(issue(api.world.keys, caller.owner, USER_SCOPES))


def _done(api: ApiWorld, folder: Path, caller: Principal) -> str:
    task_id = api.submitted({**PROMPT, "callback_url": "https://example.com/taskgate"}, caller)
    api.succeed(api.claim(), folder, "one.png", "two.png", output='{"seed":7}')
    return task_id


def _claimed(api: ApiWorld, caller: Principal) -> str:
    task_id = api.submitted(caller=caller)
    api.claim()
    return task_id
