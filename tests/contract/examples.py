"""Records a real answer of each route for the document: ``python -m tests.contract.examples``."""

from __future__ import annotations

import json
import logging
import re
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from functions.api.openapi import EXAMPLES, OPERATIONS
from taskgate.principal import Principal
from taskgate.proofs import Finding, Proof
from taskgate.routes import ROUTES
from tests.unit.functions.api_world import ADA, OPERATOR, PROMPT, ApiWorld, route_of
from tests.unit.functions.http_events import Answer

Recorded = dict[str, dict[str, Any]]
"""Bodies by the operation's name and the status."""

SUBMIT: Final = {
    **PROMPT,
    "metadata": {"project": "posters"},
    "callback_url": "https://example.com/hooks/taskgate",
}
SECRET: Final = "whsec_" + "ZXhhbXBsZSwgbm90IGEgc2VjcmV0"
PLACEHOLDERS: Final = {
    "OpenApi": {"openapi": "3.1.0", "info": {"title": "Taskgate", "version": "…"}, "paths": {}},
    "Page": "<!doctype html>…",
}
"""For the two answers that are whole files."""


class Recorder(ApiWorld):
    """A Taskgate whose answers are kept: the first that each route gives with each status."""

    def __init__(self, kept: Recorded) -> None:
        super().__init__()
        self._kept = kept

    def ask(self, method: str, path: str, caller: Principal | None = ADA, **request: Any) -> Answer:
        self.world.clock.advance(2)
        answer = super().ask(method, path, caller, **request)
        if answer.status < 300:
            route = route_of(method, path)
            assert route is not None
            told = OPERATIONS[route.method, route.path]
            kind = told.answers[answer.status].schema or ""
            body = PLACEHOLDERS.get(kind) or answer.json
            self._kept.setdefault(told.name, {}).setdefault(str(answer.status), body)
        return answer


def recorded() -> Recorded:
    """The same each time: ids are numbered, and time is the test's."""
    kept: Recorded = {}
    for scene in SCENES:
        scene(Recorder(kept))
    return dict(json.loads(_tidied(json.dumps(dict(sorted(kept.items()))))))


def write() -> None:
    """Write the file that the document is made with."""
    EXAMPLES.write_text(_lines(recorded()), "utf-8")


def _succeeds(api: Recorder) -> None:
    """A task whose owner watches it to its end."""
    task_id = api.submit(SUBMIT, key="poster-7").json["id"]
    held = api.claim()
    api.world.clock.advance(12)
    api.worker.beat(held, 0.4, "drawing")
    for part in ("", "/status", "/explain"):
        api.get(f"/v1/tasks/{task_id}{part}")
    api.get(f"/v1/admin/tasks/{task_id}", OPERATOR)
    api.get("/v1/admin/tasks", OPERATOR)
    api.get("/v1/admin/ledgers/acme/ada", OPERATOR)
    api.world.clock.advance(9)
    with tempfile.TemporaryDirectory() as folder:
        api.succeed(held, Path(folder), "image.png", output='{"seed":7}')
    api.settle()
    api.submit(SUBMIT, key="poster-7")
    api.get(f"/v1/tasks/{task_id}/result", query={"inline": "true"})
    api.get("/v1/tasks")
    api.get(f"/v1/tasks/{task_id}/callback")
    api.post(f"/v1/tasks/{task_id}/callback/redeliver")


def _waits(api: Recorder) -> None:
    """A task that is moved and called off, and one that is held back."""
    later = api.submitted({**PROMPT, "delay": 3600})
    api.post(f"/v1/tasks/{later}/reschedule", {"delay": 7200, "reason": "tomorrow will do"})
    api.post(f"/v1/tasks/{later}/cancel", {"reason": "wrong prompt"})
    waiting = api.submitted()
    api.post(f"/v1/tasks/{waiting}/priority", {"priority": "low", "reason": "no hurry"})
    api.post(f"/v1/tasks/{waiting}/pause", {"reason": "maintenance"}, OPERATOR)
    api.post(f"/v1/tasks/{waiting}/resume", {}, OPERATOR)


def _runs(api: Recorder) -> None:
    """A run that gets more time and is then stopped."""
    running = api.submitted()
    api.claim()
    api.post(f"/v1/tasks/{running}/extend", {"seconds": 600})
    api.post(f"/v1/tasks/{running}/cancel", {"mode": "hard"})


def _fails(api: Recorder) -> None:
    """A task that gets another life."""
    broken = api.submitted()
    api.fail(api.claim())
    api.get("/v1/admin/problems", OPERATOR)
    api.post(f"/v1/tasks/{broken}/retry", {"reason": "the model is fixed"})


def _is_let_in(api: Recorder) -> None:
    """A key from its birth to its end, and a plan that is set."""
    wish = {"tenant": "acme", "user": "ada", "plan": "paid", "expires_at": "2026-12-31T00:00:00Z"}
    key_id = api.post("/v1/admin/keys", wish, OPERATOR).json["id"]
    path = f"/v1/admin/keys/{key_id}"
    api.get("/v1/admin/keys", OPERATOR)
    api.post(f"{path}/rotate", {"overlap_seconds": 3600}, OPERATOR)
    api.get(path, OPERATOR)
    api.post(f"{path}/revoke", {}, OPERATOR)
    api.ask("PATCH", "/v1/admin/plans/paid", OPERATOR, body='{"max_pending": 200}')


def _in_bulk(api: Recorder) -> None:
    """Many tasks are called off at once, while their lane is paused."""
    api.submitted()
    lane = {"kind": "lane", "name": "gpu-normal"}
    why = {"reason": "the driver is being changed", "until": "2026-10-01T00:00:00Z"}
    api.post("/v1/admin/switches/pause", {**lane, **why}, OPERATOR)
    api.get("/v1/admin/switches", OPERATOR)
    api.post("/v1/admin/switches/resume", {**lane, "reason": "done"}, OPERATOR)
    wanted = {
        "act": "cancel",
        "tenant": "acme",
        "type": "text_to_image",
        "reason": "a runaway script",
    }
    dry = api.post("/v1/admin/bulk", wanted, OPERATOR).json
    path = f"/v1/admin/bulk/{dry['bulk']['id']}"
    api.post(f"{path}/confirm", {"token": dry["token"]}, OPERATOR)
    api.work()
    api.get(path, OPERATOR)
    api.get("/v1/admin/bulk", OPERATOR)
    api.post(f"{path}/stop", {}, OPERATOR)


def _is_given_up(api: Recorder) -> None:
    """A suspect that is ended by hand."""
    api.post(f"/v1/tasks/{api.stalled()}/fail", {"reason": "the GPU is gone"})


def _is_run_again(api: Recorder) -> None:
    """A suspect that is not waited for; and all that is no task."""
    api.post(f"/v1/tasks/{api.stalled()}/recover", {"reason": "the GPU is gone"})
    terms = {"content_type": "application/pdf", "bytes": 482113, "name": "handbook.pdf"}
    api.post("/v1/uploads", terms)
    for route in ROUTES:
        if "{" not in route.path and route.method == "GET":
            api.get(route.path, replace(OPERATOR, owner=ADA.owner))


def _is_proved(api: Recorder) -> None:
    """A check that found one difference, and one more that is asked for."""
    began = api.world.clock()
    lost = Finding(
        kind="no_clock",
        found="queued without a clock",
        expected=f"due_at {began}",
        task_id=api.submitted(),
        owner=str(ADA.owner),
    )
    api.proofs.begun(began)
    api.world.clock.advance(40)
    api.proofs.keep(
        Proof(
            began_at=began,
            ended_at=api.world.clock(),
            finished=True,
            tasks=1204,
            books=31,
            unaccounted=1,
            kinds={"no_clock": 1},
            findings=(lost,),
        )
    )
    api.get("/v1/admin/reconcile", OPERATOR)
    api.post("/v1/admin/reconcile", {}, OPERATOR)


SCENES: Final = (
    _succeeds, _waits, _runs, _fails, _is_let_in, _in_bulk, _is_given_up, _is_run_again,
    _is_proved,
)  # fmt: skip


def _tidied(text: str) -> str:
    """Without what differs from run to run, or would mean nothing to a reader."""
    ids = list(dict.fromkeys(re.findall(r"task_[0-9A-Z]{26}", text)))
    for number, task_id in enumerate(ids, 1):
        text = text.replace(task_id, f"task_01M3250V00EXAMP{number:011}")
    text = re.sub(
        r'"trace_id": "[0-9a-f]{32}"', '"trace_id": "4bf92f3577b34da6a3ce929d0e0e4736"', text
    )
    text = re.sub(r"bulk_[0-9A-Z]{26}", "bulk_01M3250V00EXAMP00000000001", text)
    text = re.sub(r'"token": "[0-9a-f]{40}"', f'"token": "{"0123456789" * 4}"', text)
    text = re.sub(r"upload_[0-9A-Z]{26}", "upload_01M3250V00EXAMP00000000001", text)
    text = text.replace("memory://results", "https://results.example.com/")
    text = re.sub(r'"policy": "[^"\\]*(?:\\.[^"\\]*)*"', '"policy": "…"', text)
    for number, key_id in enumerate(dict.fromkeys(re.findall(r'"id": "([a-z0-9]{12})"', text)), 1):
        text = text.replace(key_id, f"example{number:05}")
    # Where a list goes on hangs on the shard of its ids.
    text = re.sub(r'"next_cursor": (null|"[^"]*")', '"next_cursor": null', text)
    text = re.sub(r"(tg_\w{12}_)[\w-]{43}", r"\1" + "example-not-a-secret".ljust(43, "-"), text)
    text = re.sub(r"memory://[^\"?]*/([\w.]+)\?[^\"]*", r"https://results.example.com/\1?…", text)
    return re.sub(r"whsec_[\w+/=]+", SECRET, text)


def _lines(examples: Recorded) -> str:
    """One answer a line."""
    blocks = (
        f" {json.dumps(name)}: {{\n"
        + ",\n".join(
            f"  {json.dumps(status)}: {json.dumps(body, ensure_ascii=False)}"
            for status, body in answers.items()
        )
        + "\n }"
        for name, answers in examples.items()
    )
    return "{\n" + ",\n".join(blocks) + "\n}\n"


if __name__ == "__main__":
    logging.disable(logging.CRITICAL)
    write()
