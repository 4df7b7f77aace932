"""One run through everything that the deployed rooms do, on good paths and bad ones.

It serves two questions: which rights does each role use, and what gets into the logs. So it drives
every call of every room once, and puts a word of its own into each place that is nobody's business.
"""

from __future__ import annotations

import json
import os
import signal
from base64 import b64encode
from datetime import timedelta
from functools import partial
from typing import Final

import httpx

from taskgate.client import FollowUp, TaskHandle
from taskgate.local.process import Child
from taskgate.local.recording import refuse_next
from taskgate.routes import ROUTES
from taskgate.settings import PRIORITIES, stage
from taskgate.testing.receiver import Receiver
from tests.e2e.waiting import until
from tests.privilege.scene import TENANT, Scene, bearer
from tests.privilege.worker_role import working_role

PREFIX: Final = stage("local").prefix
SMALL: Final = {"steps": 1, "width": 64, "height": 64}
SLOW: Final = {**SMALL, "steps": 200, "step_ms": 400}
EVENTS: Final = ("task.succeeded", "task.canceled", "task.stalled", "task.progress")


class Story(Scene):
    """What is done, in order."""

    def run(self) -> None:
        """All of it, in a minute."""
        self.worker = working_role(self.stack)
        with self._caller() as self.client, self._receiver() as receiver:
            with self._working("gpu", "gpu", "cpu") as workers:
                self._good_ends(receiver)
                suspect, unstopped = self._lost_workers(receiver, workers)
            self._people()
            self._machines(receiver, suspect, unstopped)
            self._another_life(suspect)
            self._given_again()
            self._dead_letters()
            self._in_bulk()
            self._everything_that_is_told(suspect)
            self._wrong_callers()
            self._signatures(receiver)

    def _good_ends(self, receiver: Receiver) -> None:
        word = self.secrets.word
        follow = FollowUp(
            type="finish_image",
            input={"image": {"$result": "image.png"}, "factor": 2, "watermark": word("watermark")},
            callback_url=self._hook(receiver, "follow-up"),
        )
        picture = self.client.submit(
            "text_to_image",
            {**SMALL, "prompt": f"a lighthouse, {word('prompt')}"},
            metadata={"label": word("metadata")},
            callback_url=self._hook(receiver, "picture"),
            then=[follow],
            idempotency_key=word("idempotency key"),
        )
        text = {"text": f"A lease is a promise with an end, says {word('document')}."}
        document = self.client.submit("embed_document", text, priority="high")
        assert document.wait(240).succeeded
        assert document.download(self.folder)
        assert self.client.submit(
            "embed_document", text, priority="high", idempotency_key=document.idempotency_key
        ).replayed
        upload = self.client.upload(
            f"An upload is its owner's, says {word('an upload')}.".encode(),
            content_type="text/plain",
            name=word("an upload's name"),
        )
        uploaded = self.client.submit("embed_document", {"document": upload.ref})
        assert uploaded.wait(240).succeeded
        broken = b64encode(f"no PDF, {word('a broken document')}".encode()).decode()
        failing = self.client.submit(
            "embed_document",
            {"format": "pdf", "content_base64": self.secrets.keep("base64 of it", broken)},
        )
        assert failing.wait(240).state == "failed"
        self.failed = failing
        # Nobody listens there: it is owed for as long as the story lasts, and explained by its receiver.
        unheard = f"http://127.0.0.1:9/{word('hook path of nobody')}"
        owed = self.client.submit("embed_document", {"text": "owed"}, callback_url=unheard)
        assert owed.wait(240).succeeded
        assert owed.explain().why
        until(lambda: picture.get().chain == "succeeded")
        self._read(picture, document)
        self._reuse(picture)

    def _reuse(self, picture: TaskHandle) -> None:
        """The same work once more is given the result that is there."""
        given = {"image": {"task": picture.id, "file": "image.png"}, "factor": 2}
        first = self.client.submit("finish_image", given)
        assert first.wait(240).succeeded
        assert self.client.submit("finish_image", given).submitted.reused_from == first.id

    def _read(self, picture: TaskHandle, document: TaskHandle) -> None:
        assert picture.explain().why
        link = str(document.result().files[0].url)
        self.secrets.keep("link's signature", link.partition("X-Amz-Signature=")[2].split("&")[0])
        label = {"label": self.secrets.words["metadata"]}
        assert list(self.client.list(metadata=label))
        assert self.client.stats().balanced
        assert self.client.queues()
        assert self.client.workers().workers
        assert self.client.task_types()
        until(lambda: picture.callback().delivered)
        assert picture.redeliver().state == "pending"

    def _lost_workers(
        self, receiver: Receiver, workers: list[Child]
    ) -> tuple[TaskHandle, TaskHandle]:
        """Two runs whose workers die: one stays suspect, the other is canceled by its owner."""
        both = [
            self.client.submit(
                "text_to_image",
                {**SLOW, "prompt": self.secrets.word(f"prompt of {name}")},
                callback_url=self._hook(receiver, name),
                callback_events=EVENTS,
            )
            for name in ("a suspect", "a canceled run")
        ]
        until(lambda: all(h.status().state == "processing" for h in both))
        for worker in workers[:2]:
            os.kill(worker.pid, signal.SIGKILL)
        suspect, unstopped = both
        self._orphan(suspect)
        canceled = unstopped.cancel("hard", self.secrets.word("a cancel's reason"))
        assert canceled.state == "canceling"
        return suspect, unstopped

    def _people(self) -> None:
        """No worker is there: tasks stay where people put them."""
        text = {"text": "later"}
        for priority in PRIORITIES:
            waiting = self.client.submit("embed_document", text, priority=priority)
            assert waiting.explain().waits_for
            waiting.pause(self.secrets.word("a pause's reason"))
            waiting.resume()
            waiting.cancel()
        planned = self.client.submit("embed_document", text, delay=3600)
        planned.reschedule(delay=timedelta(hours=2), reason=self.secrets.word("a move's reason"))
        planned.cancel()

    def _machines(self, receiver: Receiver, suspect: TaskHandle, unstopped: TaskHandle) -> None:
        """The sweep takes over: it times out, stalls, loses a race, enforces a cancel, sends again."""
        hasty = self.client.submit("embed_document", {"text": "x"}, timeouts={"queue_seconds": 1})
        planned = self.client.submit("embed_document", {"text": "x"}, delay=1)
        lost = {"__type": "TransactionCanceledException", "message": "", **_PULSE_MOVED}
        raced = refuse_next(
            self.record, role="StaleSweep", operation="TransactWriteItems", answer=lost
        )
        self._swept(lambda: not raced.exists())
        self._swept(lambda: suspect.status().state == "stalled")
        until(lambda: "task.stalled" in {r.event["type"] for r in receiver.arrived if r.event})
        self._swept(lambda: unstopped.status().state == "canceled")
        self._swept(lambda: hasty.status().state == "timed_out")
        self._swept(lambda: planned.status().state == "queued")
        assert hasty.retry(self.secrets.word("a retry's reason")).state == "queued"
        # No worker is there: it waits, and how long it may is estimated.
        assert hasty.explain().why
        self.stack.settle()

    def _another_life(self, suspect: TaskHandle) -> None:
        """Another worker takes it over and hands it back; what its first run left is cleaned away."""
        assert self._objects(suspect)
        assert suspect.extend(5, self.secrets.word("an extension's reason")).state == "processing"
        self._swept(lambda: suspect.status().state == "stalled")
        with self._working("gpu", TASKGATE_DRAIN="0"):
            until(lambda: suspect.get().attempt == 2 and suspect.status().progress)
        until(lambda: suspect.status().state in {"queued", "paused"})
        assert suspect.cancel(reason=self.secrets.word("a late reason")).state == "canceled"
        until(lambda: not self._objects(suspect))

    def _given_again(self) -> None:
        """What a soft-cancelled run brings is given to the next same submit: the API copies it."""
        run = {**SMALL, "steps": 40, "step_ms": 200, "prompt": self.secrets.word("a kept prompt")}
        first = self.client.submit("text_to_image", run)
        with self._working("gpu"):
            until(lambda: first.status().state == "processing")
            first.cancel("soft")
            assert first.wait(240).state == "canceled"
        assert self.client.submit("text_to_image", run).submitted.reused_from == first.id

    def _dead_letters(self) -> None:
        dead = self.client.submit("embed_document", {"text": "dead"})
        lanes, sqs = self.stack.environment.lanes, self.stack.client("sqs")
        letters = [json.dumps({"task": dead.id, "attempt": 0}), self.secrets.word("a dead letter")]
        for body in letters:
            sqs.send_message(QueueUrl=f"{lanes['cpu-normal']}-dead", MessageBody=body)
        until(lambda: any(e.verb != "submit" for e in dead.get().history) and self._kept() >= 2)
        # The second dead message of a task that never ran ends it.
        sqs.send_message(QueueUrl=f"{lanes['cpu-normal']}-dead", MessageBody=letters[0])
        until(lambda: dead.status().state == "failed")
        answer = self.stack.client("lambda").invoke(FunctionName=f"{PREFIX}-reconcile")
        assert json.loads(answer["Payload"].read()) == {"finished": True, "unaccounted": 0}

    def _in_bulk(self) -> None:
        """Operators act on many tasks, found by day, by user and by clock; the sweep carries it out."""
        # The day of its end: midnight may have passed since.
        day = f"{self.failed.get().ended_at:%Y-%m-%d}"
        acts = (
            {"act": "reopen", "day": day},
            {"act": "cancel", "user": "ruth"},
            {"act": "cancel", "type": "embed_document"},
        )
        with self._operator() as http:
            for number, act in enumerate(acts):
                why = self.secrets.word(f"why to act in bulk, {number}")
                body = {**act, "tenant": TENANT, "reason": why}
                dry = http.post("/v1/admin/bulk", json=body).json()
                path = f"/v1/admin/bulk/{dry['bulk']['id']}"
                token = self.secrets.keep(f"confirm token {number}", dry["token"])
                started = http.post(f"{path}/confirm", json={"token": token})
                assert started.json()["state"] == "running", started.text
                self._swept(partial(self._done, http, path))
            assert http.post(f"{path}/stop").json()["state"] == "done"
            self._switched(http)

    def _done(self, http: httpx.Client, path: str) -> bool:
        return bool(http.get(path).json()["state"] == "done")

    def _switched(self, http: httpx.Client) -> None:
        lane = {"kind": "lane", "name": "cpu-low"}
        why = {"reason": self.secrets.word("why to pause a lane"), "until": "2020-01-01T00:00:00Z"}
        assert http.post("/v1/admin/switches/pause", json={**lane, **why}).status_code == 422
        del why["until"]
        for verb, paused in (("pause", True), ("resume", False)):
            turned = http.post(f"/v1/admin/switches/{verb}", json={**lane, **why})
            assert turned.json()["paused"] is paused, turned.text
        before = http.get("/v1/admin/reconcile").json()["last"]["began_at"]
        assert http.post("/v1/admin/reconcile").status_code == 202
        until(lambda: http.get("/v1/admin/reconcile").json()["last"]["began_at"] > before)

    def _operator(self) -> httpx.Client:
        headers = bearer(self.secrets.words["an API key"])
        return httpx.Client(
            base_url=self.stack.api_url, headers=headers, trust_env=False, timeout=60
        )

    def _everything_that_is_told(self, suspect: TaskHandle) -> None:
        with self._operator() as http:
            named = {"task_id": suspect.id, "key_id": self._kept_key(http)}
            named |= {"tenant": TENANT, "user": "ruth"}
            named["bulk_id"] = http.get("/v1/admin/bulk").json()["bulks"][0]["id"]
            for route in ROUTES:
                if route.method == "GET":
                    path = route.path.format(**named)
                    answer = http.get(path, follow_redirects=False)
                    most = 200 if route.room == "admin" else 499
                    assert answer.status_code <= most, (path, answer.text)
            # A list that goes on: its cursor is sealed.
            assert http.get("/v1/admin/tasks?limit=1").json()["next_cursor"]
            assert http.patch("/v1/admin/plans/story", json={"burst": 99}).json()["burst"] == 99

    def _kept_key(self, http: httpx.Client) -> str:
        """The id of a key that was issued, rotated and revoked."""
        made = http.post("/v1/admin/keys", json={"tenant": TENANT, "user": "ada"}).json()
        path = f"/v1/admin/keys/{made['id']}"
        new = http.post(f"{path}/rotate").json()
        for number, key in enumerate((made["key"], new["key"])):
            self.secrets.keep(f"issued key {number}", key)
        assert http.post(f"{path}/revoke").json()["state"] == "revoked"
        return str(made["id"])

    def _wrong_callers(self) -> None:
        """What is refused was still sent, and is as secret as what is taken."""
        word, key = self.secrets.word, self.secrets.words["an API key"]
        forged = self.secrets.keep("a forged key", key[:16] + "x" * 43)
        bodies = [
            {"type": word("a wrong type"), "input": {"text": "x"}},
            {"type": "embed_document", "input": {"text": word("a refused text"), "no": 1}},
            {"type": "embed_document", "input": {"text": "x"}, word("a wrong field"): 1},
        ]
        with httpx.Client(base_url=self.stack.api_url, trust_env=False, timeout=60) as http:
            for body in bodies:
                answer = http.post("/v1/tasks", json=body, headers=bearer(key))
                assert answer.status_code in {400, 404, 422}, answer.text
            broken = f'{{"type": "{word("broken JSON")}'.encode()
            assert http.post("/v1/tasks", content=broken, headers=bearer(key)).status_code == 400
            asked = {"metadata.label": word("a query"), word("a wrong query"): "1"}
            assert http.get("/v1/tasks", params=asked, headers=bearer(key)).is_client_error
            assert http.get("/v1/stats", headers=bearer(forged)).status_code in {401, 403}

    def _signatures(self, receiver: Receiver) -> None:
        for number, request in enumerate(receiver.arrived):
            signature = request.headers["webhook-signature"].partition(",")[2].split()[0]
            self.secrets.keep(f"signature {number}", signature)
        assert len(receiver.arrived) >= 5


_PULSE_MOVED: Final = {
    "CancellationReasons": [{"Code": "None"}, {"Code": "ConditionalCheckFailed"}],
    "Message": "Transaction cancelled [None, ConditionalCheckFailed]",
}
"""A beat came between the sweep's look and its write."""
