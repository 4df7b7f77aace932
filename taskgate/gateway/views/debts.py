"""What an ended task still owes, as its owner may know it: in fields and in sentences. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from taskgate.gateway.views.stories import about
from taskgate.receivers import Health
from taskgate.task import Callback, CallbackState, Duty, Task, Tried


@dataclass(frozen=True, slots=True, kw_only=True)
class OwedCallback:
    """How far the delivery has come."""

    tries: int
    last: Tried | None
    next_try_at: int
    receiver: Health | None
    """How its receiver has answered lately; None when that could not be read."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Debts:
    """What an ended task owes, in the order in which it is settled."""

    duties: tuple[Duty, ...]
    next_at: int
    """When somebody sees to it next: epoch ms."""
    callback: OwedCallback | None


def debts_of(task: Task, receiver: Health | None) -> Debts | None:
    """What the task owes; None while it lives, and when it is settled."""
    if not task.state.ended or not task.owes:
        return None
    due = task.owed_at or task.since
    owed = task.callback if Duty.CALLBACK in task.owes else None
    callback = _callback(owed, due, receiver) if owed else None
    return Debts(duties=task.owes, next_at=due, callback=callback)


def debt_sentences(task: Task, debts: Debts | None, now: int) -> Iterator[str]:
    """The same in plain words; and of a callback that was given up, that it may be sent again."""
    duties = debts.duties if debts else ()
    if Duty.FOLLOW_UPS in duties:
        yield f"What follows it ({task.follow_ups} tasks) is still to be put on record."
    if Duty.CLEAN_UP in duties:
        yield "What it left behind is still to be removed."
    if Duty.SALVAGE in duties and task.kept_until:
        ahead = about(task.kept_until - now)
        yield f"Its result is kept for your next identical submit, for {ahead}, and then removed."
    if task.given_to:
        yield f"Its result was kept, and given to {task.given_to}."
    if debts and debts.callback:
        yield _pending(debts.callback, now)
        yield from _ill(debts.callback.receiver, now)
    elif task.state.ended and task.callback and task.callback.state is CallbackState.GIVEN_UP:
        yield _given_up(task.callback)
    elif task.state.ended and task.callback and task.callback.state is CallbackState.DELIVERED:
        yield f"Its callback was delivered, {_attempts(task.callback.tries)} in all."


def _callback(owed: Callback, due: int, receiver: Health | None) -> OwedCallback:
    last = owed.latest[-1] if owed.latest else None
    return OwedCallback(tries=owed.tries, last=last, next_try_at=due, receiver=receiver)


def _pending(callback: OwedCallback, now: int) -> str:
    ahead = callback.next_try_at - now
    due = f"in {about(ahead)}" if ahead > 0 else "now"
    so_far = f"{_attempts(callback.tries)} so far" if callback.tries else "no attempt so far"
    return f"Its callback is still to be delivered: {so_far}{_last(callback.last)}; the next {due}."


def _given_up(callback: Callback) -> str:
    last = _last(callback.latest[-1] if callback.latest else None)
    tries = _attempts(callback.tries)
    return f"Its callback was given up after {tries}{last}; it may be sent again."


def _attempts(count: int) -> str:
    return "1 attempt" if count == 1 else f"{count} attempts"


def _last(tried: Tried | None) -> str:
    if tried is None:
        return ""
    status = f" {tried.status}" if tried.status else ""
    return f", the last one: {tried.reason}{status}"


def _ill(receiver: Health | None, now: int) -> Iterator[str]:
    if receiver is None or receiver.opened_at is None:
        return
    ahead = receiver.next_probe_at - now
    probe = f"in {about(ahead)}" if ahead > 0 else "now"
    yield (
        f"Its receiver has failed {receiver.failures} times in a row and has been out for"
        f" {about(now - receiver.opened_at)}: one callback at a time probes it, the next {probe}; the"
        " others are put off, which is no attempt."
    )
