"""Items that an earlier version wrote are read by this one."""

from dataclasses import replace

from taskgate.aws.codec import decode, encode
from taskgate.lifecycle.retry import ErrorCode
from taskgate.lifecycle.states import State
from taskgate.task import Callback, CallbackState, CancelMode, CancelRequest, Tried
from taskgate.testing.factories import task_in
from taskgate.tracing import MAX_STATE, Trace


def test_an_attempt_of_before_details_were_kept_reads_back_without_one() -> None:
    tried = Tried(1, 301, 12, "redirect")
    hook = Callback("https://a.example/h", ("task.failed",), CallbackState.PENDING, 1, 1, (tried,))
    item = encode(replace(task_in(State.FAILED, at=1), callback=hook), 16)
    assert '[[1,301,12,"redirect"]]' in item["callback"]["S"]
    assert decode(item).callback == hook
    told = replace(hook, latest=(replace(tried, detail="é"),))
    item = encode(replace(task_in(State.FAILED, at=1), callback=told), 16)
    assert decode(item).callback == told


def test_a_cancel_of_before_its_handshake_was_kept_reads_back_without_one() -> None:
    item = encode(task_in(State.CANCELING, at=1), 16)
    item["cancel"] = {"S": "soft|canceled_by_user|1"}
    told = CancelRequest(CancelMode.SOFT, ErrorCode.CANCELED_BY_USER, 1)
    assert decode(item).cancel == told


def test_a_trace_costs_17_bytes_and_what_the_vendors_say_and_none_costs_nothing() -> None:
    task = task_in(State.QUEUED, at=1)
    assert "given_trace" not in encode(task, 16)
    trace = Trace("4bf92f3577b34da6a3ce929d0e0e4736", 3, "a=" + "x" * (MAX_STATE - 2))
    item = encode(replace(task, given_trace=trace), 16)
    assert len(item["given_trace"]["B"]) == 17 + MAX_STATE
    assert decode(item).trace == trace
