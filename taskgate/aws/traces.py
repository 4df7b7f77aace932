"""A task's trace in its item, and beside the body of its message."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from taskgate.aws.values import Value, b, bytes_of
from taskgate.ports import Message
from taskgate.tracing import MET, Trace, incoming

if TYPE_CHECKING:
    from mypy_boto3_sqs.type_defs import MessageAttributeValueTypeDef

TRACE_HEADERS: Final = ("traceparent", "tracestate")
_ID_BYTES: Final = 16


def write_trace(trace: Trace) -> Value:
    """17 bytes and the vendors' state: an item is paid by its size."""
    return b(bytes.fromhex(trace.trace_id) + bytes([trace.flags]) + trace.state.encode("ascii"))


def read_trace(value: Value) -> Trace:
    raw = bytes_of(value)
    state = raw[_ID_BYTES + 1 :].decode("ascii")
    return Trace(raw[:_ID_BYTES].hex(), raw[_ID_BYTES], state)


def attributes(message: Message) -> Mapping[str, MessageAttributeValueTypeDef]:
    """The trace as message attributes, where tracing libraries look for it."""
    headers = message.trace_headers.items()
    return {name: {"DataType": "String", "StringValue": text} for name, text in headers}


def traced(message: Message, found: Mapping[str, Any]) -> Message:
    """The message with the trace that came along. One of before has none: nothing is known then."""
    texts = [found.get(name, {}).get("StringValue") for name in TRACE_HEADERS]
    caller = incoming(*texts)
    if caller is None:
        return message
    MET.note(message.task_id, caller.trace)
    return replace(message, given_trace=caller.trace)
