"""Items that an earlier version wrote are read by this one."""

from dataclasses import replace

from taskgate.aws.codec import decode, encode
from taskgate.lifecycle.states import State
from taskgate.task import Callback, CallbackState, Tried
from taskgate.testing.factories import task_in


def test_an_attempt_of_before_details_were_kept_reads_back_without_one() -> None:
    tried = Tried(1, 301, 12, "redirect")
    hook = Callback("https://a.example/h", ("task.failed",), CallbackState.PENDING, 1, 1, (tried,))
    item = encode(replace(task_in(State.FAILED, at=1), callback=hook), 16)
    assert '[[1,301,12,"redirect"]]' in item["callback"]["S"]
    assert decode(item).callback == hook
    told = replace(hook, latest=(replace(tried, detail="é"),))
    item = encode(replace(task_in(State.FAILED, at=1), callback=told), 16)
    assert decode(item).callback == told
