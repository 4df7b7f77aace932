"""What an upload costs beside the budgets of a task: counted on the emulator."""

from __future__ import annotations

from pathlib import Path

import httpx

from taskgate.aws.ports import build
from taskgate.catalog import CATALOG
from taskgate.gateway.door import submitting, uploading
from taskgate.gateway.door.submitting import SubmitRequest
from taskgate.gateway.work.worker import Held, WorkerGateway
from taskgate.plans import OPERATOR
from taskgate.principal import SCOPES, Principal
from taskgate.results import Stored
from taskgate.task import Owner
from taskgate.testing import aws_resources
from tests.integration.measuring import Meter


def test_an_upload_costs_its_submit_one_call_more_and_its_run_another(
    owner: Owner, tmp_path: Path
) -> None:
    environment = aws_resources.create("upload")
    ports, meter = build(environment), Meter()
    meter.tap(*(port._client for port in (ports.tasks, ports.lanes, ports.results)))  # type: ignore[attr-defined]
    who = Principal(owner, SCOPES, 100, "key", OPERATOR)
    with meter.counting() as begin:
        terms = Stored(size=5, content_type="text/plain")
        upload = uploading.begin(ports, CATALOG, environment, who, terms)
    assert begin["calls"] == {"UpdateItem": 1}  # the rate; to sign asks nobody
    with httpx.Client(trust_env=False, timeout=60) as http:
        form = {"data": dict(upload.form.fields), "files": {"file": ("f", b"hello")}}
        http.post(upload.form.url, **form).raise_for_status()  # type: ignore[arg-type]

    given = {"format": "text", "document": {"upload": upload.id}}
    request = SubmitRequest(type="embed_document", input=given, priority="low")
    with meter.counting() as submit:
        task = submitting.submit(ports, CATALOG, environment, who, request).task
    assert submit["calls"] == {
        "HeadObject": 1, "TransactWriteItems": 1, "SendMessage": 1, "UpdateItem": 2,
    }  # fmt: skip

    worker, held = WorkerGateway(ports, CATALOG, environment, "w-1234-abcd"), None
    while not isinstance(held, Held) or held.task.id != task.id:
        for delivery in ports.lanes.receive(task.lane, wait=1):
            held = worker.claim(delivery)
    with meter.counting() as fetch:
        worker.files(held).upload(upload.id, str(tmp_path / "given"))
    assert fetch["calls"] == {"GetObject": 1}
    assert (tmp_path / "given").read_bytes() == b"hello"
    for port in (ports.tasks, ports.lanes, ports.results):
        port._client.close()  # type: ignore[attr-defined]
