"""What operators pause: a lane, a task type, or all of the intake. For operators."""

from __future__ import annotations

from typing import Any

from aws_lambda_powertools.event_handler import Response

from functions.admin.desk import Desk
from functions.admin.switch_bodies import PauseSwitchBody, ResumeSwitchBody
from functions.http.answers import answer
from functions.http.asked import Asked
from functions.http.times import when
from taskgate.gateway import switching
from taskgate.switches import Switch


def listed(desk: Desk, asked: Asked) -> Response[str]:
    """`GET /v1/admin/switches`: all that were ever turned, as they are now."""
    asked.query()
    found, now = switching.every(desk.ports, asked.principal), desk.ports.now()
    return answer({"switches": [_shown(switch, now) for switch in found]})


def pause(desk: Desk, asked: Asked) -> Response[str]:
    """`POST /v1/admin/switches/pause`: nothing more is started; what runs, runs on."""
    asked.query()
    body, who = PauseSwitchBody.of(asked.body()), asked.principal
    turned = switching.pause(desk.ports, desk.catalog, who, body.switch, body.reason)
    return answer(_shown(turned, desk.ports.now()))


def resume(desk: Desk, asked: Asked) -> Response[str]:
    """`POST /v1/admin/switches/resume`: safe to repeat."""
    asked.query()
    body, who = ResumeSwitchBody.of(asked.body()), asked.principal
    turned = switching.resume(desk.ports, desk.catalog, who, body.switch, body.reason)
    return answer(_shown(turned, desk.ports.now()))


def _shown(switch: Switch, now: int) -> dict[str, Any]:
    return {
        "kind": switch.kind,
        "name": switch.name,
        "paused": switch.on(now),
        "refuses": switch.refuse,
        "reason": switch.reason,
        "by": switch.by,
        "since": when(switch.since or None),
        "until": when(switch.until),
        "held_at": when(switch.held_at(now)),
        "acts": [
            {"at": when(act.at), "by": act.by, "what": act.what, "reason": act.reason}
            for act in switch.acts
        ],
    }
