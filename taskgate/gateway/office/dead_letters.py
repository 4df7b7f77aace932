"""A message that its lane gave up: keep it, then do for its task what the task needs.

The letter is kept before anything else is done, so no failure afterwards can lose it. Doing it all
twice is harmless: the archive keeps the first, a resend is a duplicate, and an end is guarded.
"""

from __future__ import annotations

import json
import time
from dataclasses import asdict, dataclass
from typing import Final

from taskgate.books import Archive
from taskgate.errors import Refused, Unavailable
from taskgate.events import event, transition
from taskgate.gateway.stamps import stamp
from taskgate.lifecycle import transitions
from taskgate.lifecycle.change import Change
from taskgate.lifecycle.letters import LetterStep, LetterVerdict, judge_letter
from taskgate.lifecycle.retry import ErrorClass, ErrorCode
from taskgate.lifecycle.transitions import LONGEST_DELAY
from taskgate.ports import Message, Ports
from taskgate.task import Task, TaskError

ACTOR: Final = "dead-letters"
MAX_RE_READS: Final = 5
UNREADABLE: Final = "unreadable"


@dataclass(frozen=True, slots=True, kw_only=True)
class DeadLetter:
    """A dead message as its queue gave it."""

    id: str
    """The queue's own id of the message."""
    lane: str
    body: str
    receives: int
    sent_at: int
    """Epoch ms."""

    @property
    def pool(self) -> str:
        return self.lane.rpartition("-")[0]

    @property
    def key(self) -> str:
        """Where it is kept; the same however often it is delivered."""
        day = time.strftime("%Y-%m-%d", time.gmtime(self.sent_at / 1000))
        return f"dead/{self.lane}/{day}/{self.id}.json"


def answer(ports: Ports, archive: Archive, letter: DeadLetter, message: Message | None) -> str:
    """Keep the letter and see to its task; `message` is None when the body is not one of ours.

    Raises `Unavailable`; the letter then stays in its queue and comes again.
    """
    archive.keep(letter.key, json.dumps(asdict(letter)))
    if message is None:
        verdict, step = LetterVerdict(LetterStep.LEAVE, "not a message of ours"), UNREADABLE
    else:
        verdict = _settle(ports, letter, message)
        step = verdict.step.value
    event(
        "dead_letter",
        task=message.task_id if message else None,
        lane=letter.lane,
        pool=letter.pool,
        step=step,
        reason=verdict.reason,
        kept=letter.key,
    )
    return step


def _settle(ports: Ports, letter: DeadLetter, message: Message) -> LetterVerdict:
    task = ports.tasks.get(message.task_id)
    for _ in range(MAX_RE_READS):
        verdict = judge_letter(task, letter.id, message.attempt, ports.now(), lane=letter.lane)
        if task is None or verdict.step is LetterStep.LEAVE:
            return verdict
        try:
            _act(ports, task, letter.id, verdict)
        except Refused as refused:
            task = refused.current
        else:
            return verdict
    raise Unavailable


def _act(ports: Ports, task: Task, letter: str, verdict: LetterVerdict) -> None:
    made = stamp(ports.now(), ACTOR, verdict.reason)
    if verdict.step is LetterStep.BURY:
        poison = TaskError(ErrorCode.POISON, verdict.reason, ErrorClass.PERMANENT)
        _apply(ports, task, transitions.bury(task, made, poison))
        return
    # Sent before it is written down: a send that fails must not use up the one fresh message.
    rest = max(0, (task.not_before or 0) - made.at)
    seconds = -(-min(rest, LONGEST_DELAY) // 1000)
    ports.lanes.send(task.lane, Message.of(task), seconds)
    _apply(ports, task, transitions.resend(task, made, letter))


def _apply(ports: Ports, task: Task, change: Change) -> None:
    transition(change, task, ports.tasks.apply(change))
