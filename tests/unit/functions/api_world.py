"""A whole Taskgate in memory behind the real API, asked by real events."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from functions.admin import service as admin
from functions.admin.desk import Desk as AdminDesk
from functions.api import service as api
from functions.api.desk import Desk
from functions.http.service import Service
from functions.logs import json_logger
from functions.outbox_callback.telling import told
from functions.rooms import Room
from taskgate.catalog import CATALOG, Catalog
from taskgate.gateway.office import bulk_working
from taskgate.gateway.outbox.delivering import Attempt, Reason
from taskgate.gateway.outbox.settling import Outbox
from taskgate.gateway.sweep import sweeping
from taskgate.gateway.views.cursors import Cursors
from taskgate.gateway.work.worker import Failure, Held, Produced, WorkerGateway
from taskgate.lifecycle.retry import ErrorClass, ErrorCode
from taskgate.lifecycle.states import State
from taskgate.ports import Ports
from taskgate.principal import SCOPES, USER_SCOPES, Principal
from taskgate.routes import ROUTES, Route
from taskgate.settings import Environment
from taskgate.spans import NOBODY, Spans
from taskgate.task import Owner, Task
from taskgate.testing.memory import MemoryWorld
from taskgate.testing.memory.plans import MemoryPlans
from taskgate.testing.memory.proofs import MemoryProofs, MemoryProver
from taskgate.webhooks import secrets_for
from taskgate.webhooks.deriving import key_for
from tests.unit.functions.documented import assert_announced, assert_documented
from tests.unit.functions.http_events import Answer, http_event

ENVIRONMENT: Final = Environment(
    stage="local",
    tasks_table="tasks",
    ephemeral_table="ephemeral",
    results_bucket="results",
    lanes={lane: f"https://sqs.test/{lane}" for lane in CATALOG.lanes()},
    clock_shards=16,
    beat=15,
    lease=45,
    send_check=30,
    stall_grace=60,
    cancel_grace=30,
)
ADA: Final = Principal(Owner("acme", "ada"), USER_SCOPES, 50, "k1")
EVE: Final = Principal(Owner("evil", "eve"), USER_SCOPES, 50, "k2")
OPERATOR: Final = Principal(Owner("taskgate", "olga"), SCOPES, 50, "k9")
PROMPT: Final = {"type": "text_to_image", "input": {"prompt": "a lighthouse"}}
_IDLE: Final = {"nothing_owed", "not_due"}
MASTER: Final = bytes(range(32))
GHOST: Final = "task_01ARZ3NDEKTSV4RRFFQ69G5FAV"
"""Well formed, and on no record."""


def room_of(ports: Ports, stage: str = "local") -> Room:
    """A room with these ports."""
    return Room(environment=replace(ENVIRONMENT, stage=stage), ports=ports)


class Rooms:
    """The rooms behind the HTTP API: each event goes to the one whose route it is."""

    def __init__(self, **rooms: Service[Any]) -> None:
        self.rooms = rooms

    def answer(self, event: dict[str, Any], context: Any) -> dict[str, Any]:
        http = event["requestContext"]["http"]
        route = route_of(http["method"], http["path"])
        return self.rooms[route.room if route else "api"].answer(event, context)


def route_of(method: str, path: str) -> Route | None:
    """The route that serves this path, if any does."""
    for route in ROUTES:
        pattern = re.sub(r"{\w+}", "[^/]+", route.path)
        if route.method == method and re.fullmatch(pattern, path):
            return route
    return None


class ApiWorld:
    """The API over in-memory ports, with a caller and a worker."""

    def __init__(
        self,
        catalog: Catalog = CATALOG,
        between: Callable[[Ports], Ports] = lambda ports: ports,
        stage: str = "local",
        spans: Spans = NOBODY,
    ) -> None:
        self.world = MemoryWorld()
        self.plans = MemoryPlans()
        self.proofs, self.prover = MemoryProofs(), MemoryProver()
        room = room_of(between(self.world.ports), stage)
        self.letters: list[tuple[str, Mapping[str, str], bytes]] = []
        """What was posted to receivers."""
        self.receiver_says: list[Attempt] = []
        """What comes of the next attempts; then all is well."""
        self.outbox = Outbox(
            ports=self.world.ports,
            catalog=catalog,
            environment=room.environment,
            courier=told(self._post, spans),
            secrets=self._secrets,
            draw=lambda: 0.5,
            sleep=self.world.clock.advance,
        )
        self.meanwhile: dict[int, Callable[[], object]] = {}
        """What happens after so many seconds of a long poll."""
        self.slept = 0
        self.key_reads = 0
        """How often the key that seals cursors was asked for."""
        desk = Desk(
            room=room,
            secrets=self._secrets,
            cursors=Cursors(self._cursor_key),
            catalog=catalog,
            sleep=self._sleep,
            spans=spans,
        )
        self.api = Rooms(
            api=Service(desk, api.VERBS, json_logger("api"), room.environment.labels),
            admin=Service(
                self._admin_desk(room), admin.VERBS, json_logger("admin"), room.environment.labels
            ),
        )
        self.worker = WorkerGateway(self.world.ports, catalog, ENVIRONMENT, "w1", draw=lambda: 0.0)

    def _admin_desk(self, room: Room) -> AdminDesk:
        cursors = Cursors(self._cursor_key)
        return AdminDesk(
            room=room,
            keys=self.world.keys,
            plans=self.plans,
            cursors=cursors,
            catalog=CATALOG,
            proofs=self.proofs,
            prover=self.prover,
        )

    @property
    def tasks(self) -> dict[str, Task]:
        """What is on record."""
        return self.world.tasks.tasks

    def ask(self, method: str, path: str, caller: Principal | None = ADA, **request: Any) -> Answer:
        """One request through the real resolver."""
        context = caller.as_context() if caller else None
        event = http_event(method, path, authorizer=context, **request)
        answer = Answer.of(self.api.answer(json.loads(json.dumps(event)), None))
        assert_documented(method, path, answer)
        return answer

    def get(self, path: str, caller: Principal | None = ADA, **request: Any) -> Answer:
        return self.ask("GET", path, caller, **request)

    def post(
        self, path: str, body: Any = None, caller: Principal | None = ADA, **request: Any
    ) -> Answer:
        raw = body if isinstance(body, str | bytes) or body is None else json.dumps(body)
        return self.ask("POST", path, caller, body=raw, **request)

    def submit(self, body: Any = PROMPT, caller: Principal = ADA, key: str | None = None) -> Answer:
        headers = {"Idempotency-Key": key} if key is not None else {}
        return self.post("/v1/tasks", body, caller, headers=headers)

    def submitted(self, body: Mapping[str, Any] = PROMPT, caller: Principal = ADA) -> str:
        """A fresh task's id."""
        return str(self.submit(body, caller).json["id"])

    def claim(self) -> Held:
        """The worker takes the next task of any lane."""
        for lane in CATALOG.lanes():
            for delivery in self.world.lanes.receive(lane):
                held = self.worker.claim(delivery)
                if isinstance(held, Held):
                    return held
        raise AssertionError("no lane holds a message")

    def sweep(self) -> None:
        """The stale sweep, as each minute."""
        shards = range(ENVIRONMENT.clock_shards)
        sweeping.sweep(self.world.ports, shards, self.world.clock() + 50_000)

    def work(self) -> int:
        """The sweep's function works on bulk acts, as each minute."""
        ports = self.world.ports
        return bulk_working.work(ports, CATALOG, ENVIRONMENT.clock_shards, ports.now() + 50_000)

    def put(self, task: Task) -> str:
        """A task on record that no request made, with its input."""
        self.tasks[task.id] = task
        self.world.tasks._inputs[task.id] = "{}"
        return task.id

    def stalled(self, caller: Principal = ADA) -> str:
        """A task whose worker was last heard of a lease ago."""
        task_id = self.submitted(caller=caller)
        self.claim()
        self.world.clock.advance(50)
        self.sweep()
        assert self.world.state(task_id) is State.STALLED
        return task_id

    def settle(self, hours: float = 0) -> None:
        """The outbox, woken for each task that owes, now and for so many hours."""
        end = self.world.clock() + round(hours * 3600_000)
        while True:
            while any(self.outbox.settle(i) not in _IDLE for i in list(self.tasks)):
                pass
            if self.world.clock() >= end:
                return
            self.world.clock.advance(5)

    def _post(self, url: str, headers: Mapping[str, str], body: bytes) -> Attempt:
        assert_announced(body)
        self.letters.append((url, headers, body))
        return self.receiver_says.pop(0) if self.receiver_says else Attempt(204, Reason.OK, 3)

    def _secrets(self, tenant: str) -> tuple[str, ...]:
        return secrets_for(MASTER, tenant, [2, 1])

    def _cursor_key(self) -> bytes:
        self.key_reads += 1
        return key_for(MASTER, "cursors")

    def _sleep(self, seconds: float) -> None:
        self.world.clock.advance(seconds)
        self.slept += 1
        self.meanwhile.pop(self.slept, lambda: None)()

    def succeed(self, held: Held, folder: Path, *names: str, output: str | None = None) -> Task:
        """The worker ends its task well, with files of these names."""
        for name in names:
            (folder / name).write_bytes(f"bytes of {name}".encode())
        files = [Produced(name, str(folder / name), "image/png") for name in names]
        return self.worker.succeed(held, files, output)

    def fail(self, held: Held, code: ErrorCode = ErrorCode.INVALID_INPUT) -> Task:
        """The worker reports an error that no other attempt would cure."""
        return self.worker.fail(held, Failure(code, "no such thing", ErrorClass.PERMANENT, "why"))
