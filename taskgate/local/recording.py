"""The AWS emulator with a record of every call that is signed with a role's credentials.

A JSON line a call goes into the file that ``TASKGATE_RECORD`` names. The record is made at the
emulator's door, so nothing in a function or a worker knows of it, and it holds what AWS would judge:
who, what, on what.

A file beside the record, named as `refuse_next` does, makes the next call that fits it fail: so the
deployed functions meet what the emulator itself never does, such as a throttle or a lost race.
"""

from __future__ import annotations

import json
import re
from collections.abc import Awaitable, Callable, MutableMapping
from pathlib import Path
from typing import Any, Final
from urllib.parse import parse_qs, unquote

RECORD: Final = "TASKGATE_RECORD"
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Message, Receive, Send], Awaitable[None]]

_FORM_BYTES: Final = 64 * 1024
"""Of a form's body: its fields come before its file."""
_FORM_KEY: Final = re.compile(rb'name="key"\r\n\r\n([^\r]+)\r\n')
_CREDENTIAL: Final = re.compile(r"(ASIA\w+)/\d{8}/[\w-]+/([\w-]+)/aws4_request")


def recorded(emulated: App, record: Path, role_of: Callable[[str], str]) -> App:
    """The emulator's application, between two ears: one for the request, one for its status."""

    async def app(scope: Message, receive: Receive, send: Send) -> None:
        signer = _signer(scope) if scope["type"] == "http" else None
        heard = _Ears(receive, send, most=None if signer else _FORM_BYTES)
        if signer and (refusal := _refusal(record, role_of(signer[0]), scope)):
            await _refuse(send, refusal)
            return
        await emulated(scope, heard.receive, heard.send)
        if signer:
            call = _call(scope, signer[1], bytes(heard.body))
            _write(record, {"role": role_of(signer[0]), "status": heard.status, **call})
        elif form := _form(scope, bytes(heard.body)):
            _write(record, form | {"role": role_of(form["role"])})

    return app


class _Ears:
    """What goes past: the body of the request, or the beginning of it, and the answer's status."""

    def __init__(self, receive: Receive, send: Send, most: int | None) -> None:
        self._receive, self._send, self._most = receive, send, most
        self.body, self.status = bytearray(), 0

    async def receive(self) -> Message:
        message = await self._receive()
        room = None if self._most is None else self._most - len(self.body)
        self.body.extend((message.get("body") or b"")[:room])
        return message

    async def send(self, message: Message) -> None:
        self.status = message.get("status", self.status)
        await self._send(message)


def _form(scope: Message, body: bytes) -> dict[str, Any] | None:
    """A file that was posted by a signed form: whoever signed it needs the right to put it there."""
    signed, key = _CREDENTIAL.search(body.decode("latin-1")), _FORM_KEY.search(body)
    if scope["type"] != "http" or scope["method"] != "POST" or not (signed and key):
        return None
    path = f"{unquote(scope['path']).rstrip('/')}/{key[1].decode()}"
    common = {"operation": "", "method": "PUT", "query": {}, "body": ""}
    return {"role": signed[1], "status": 0, "service": signed[2], "path": path, **common}


def refuse_next(record: Path, *, role: str, operation: str, answer: dict[str, Any]) -> Path:
    """Fail the next such call of the role whose name holds `role`; the file is gone once it did."""
    refusal = record.with_suffix(".refuse")
    refusal.write_text(json.dumps({"role": role, "operation": operation, "answer": answer}))
    return refusal


def _refusal(record: Path, role: str, scope: Message) -> dict[str, Any] | None:
    file = record.with_suffix(".refuse")
    if not file.exists():
        return None
    wanted = json.loads(file.read_text())
    if wanted["role"] not in role or wanted["operation"] != _operation(scope):
        return None
    file.unlink()
    return dict(wanted["answer"])


async def _refuse(send: Send, answer: dict[str, Any]) -> None:
    headers = [(b"content-type", b"application/x-amz-json-1.0")]
    await send({"type": "http.response.start", "status": 400, "headers": headers})
    await send({"type": "http.response.body", "body": json.dumps(answer).encode()})


def _operation(scope: Message) -> str:
    headers = {name.lower(): value.decode("latin-1") for name, value in scope["headers"]}
    return str(headers.get(b"x-amz-target", "")).rpartition(".")[2]


def _signer(scope: Message) -> tuple[str, str] | None:
    """The access key and the service of a request: in its header, or in a signed link's query."""
    headers = {name.lower(): value.decode("latin-1") for name, value in scope["headers"]}
    credential = headers.get(b"authorization", "") + unquote(scope["query_string"].decode())
    found = _CREDENTIAL.search(credential)
    return (found[1], found[2]) if found else None


def _call(scope: Message, service: str, body: bytes) -> dict[str, Any]:
    query = parse_qs(scope["query_string"].decode(), keep_blank_values=True)
    return {
        "service": service,
        "operation": _operation(scope),
        "method": scope["method"],
        "path": unquote(scope["path"]),
        "query": {name: values[0] for name, values in query.items()},
        # An object's bytes are no part of what a policy looks at.
        "body": body.decode() if service != "s3" or "delete" in query else "",
    }


def _write(record: Path, line: dict[str, Any]) -> None:
    """One write of one line: calls that end at the same time do not mix."""
    with record.open("ab", buffering=0) as out:
        out.write(json.dumps(line).encode() + b"\n")
