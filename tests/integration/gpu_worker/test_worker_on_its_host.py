"""The worker as it is shipped, ``python -m gpu_worker``, with the host's services on loopback."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

from loopback import Asked, served
from worker_world import PATIENCE, WHO, until

from taskgate.aws.ports import build
from taskgate.catalog import CATALOG
from taskgate.gateway.door.submitting import SubmitRequest, submit
from taskgate.lifecycle.states import State
from taskgate.testing import aws_resources

STUCK = """
import sys, threading
from gpu_worker import stop
stop.LEAVE = 0.5
one = stop.Stop(0.2)
one.listen()
sys.stdout.write("ready\\n")
sys.stdout.flush()
threading.Event().wait()
"""


def test_the_shipped_worker_is_protected_while_busy_and_drains_on_a_spot_notice(
    tmp_path: Path,
) -> None:
    notices: list[bytes] = []

    def host(asked: Asked) -> tuple[int, bytes]:
        if asked.path.startswith("/agent/"):
            return 200, b'{"protection": {}}'
        if asked.path.endswith("/token"):
            return 200, b"token"
        return (200, notices[0]) if notices else (404, b"")

    environment = aws_resources.create("onhost")
    ports = build(environment)
    given = SubmitRequest(type="embed_document", input={"text": "A text about cats."})
    task_id = submit(ports, CATALOG, environment, WHO, given).task.id
    log = tmp_path / "log"
    with served(host) as loopback, log.open("w") as out:
        variables = environment.as_variables() | {
            "TASKGATE_POOL": "cpu",
            "TASKGATE_SPOT": "1",
            "TASKGATE_SCRATCH": str(tmp_path),
            "AWS_EC2_METADATA_SERVICE_ENDPOINT": loopback.url,
            "ECS_AGENT_URI": f"{loopback.url}/agent",
        }
        worker = subprocess.Popen(
            [sys.executable, "-m", "gpu_worker"], stdout=out, env=os.environ | variables
        )
        try:
            until(lambda: '"unprotected"' in log.read_text(), PATIENCE, log.read_text)
            notices.append(b'{"action": "terminate", "time": "2026-11-29T12:00:00Z"}')
            assert worker.wait(PATIENCE) == 0
        finally:
            worker.kill()
            worker.wait()
    told = [json.loads(a.body) for a in loopback.asked if a.path.startswith("/agent/")]
    assert [t["ProtectionEnabled"] for t in told] == [True, False]
    assert '"why": "spot terminate"' in log.read_text()
    task = ports.tasks.get(task_id)
    assert task is not None
    assert task.state is State.SUCCEEDED
    for port in (ports.tasks, ports.pulses, ports.lanes, ports.results):
        port._client.close()  # type: ignore[attr-defined]


def test_a_worker_that_hangs_while_it_leaves_is_gone_in_time_all_the_same() -> None:
    with subprocess.Popen(
        [sys.executable, "-c", STUCK], stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        began = time.monotonic()
        process.send_signal(signal.SIGTERM)
        assert process.wait(PATIENCE) == 4
        assert time.monotonic() - began < 60
