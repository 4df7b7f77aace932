"""What the table of verbs promises, written down a second time and by hand, with the reason.

The other tests of this folder follow `RULES` wherever it goes: they prove that the code does what the
table says. This page proves that the table says what was promised. Who changes a rule changes its
line here, and has read why it was so.
"""

from __future__ import annotations

import pytest

from taskgate.lifecycle.states import ENDED, RULES, State, Verb

WAITING = "created queued retrying"
EVER_WAITING = f"scheduled paused {WAITING}"
PROMISES: list[tuple[str, str, str, str]] = [
    ("submit", "", "created scheduled", "a task is on record before it is in any queue"),
    (
        "enqueue",
        "created scheduled",
        "queued",
        "what is known to be in a queue is told from what is not",
    ),
    ("reuse", "created", "succeeded", "a kept result is given before anything is sent"),
    ("reschedule", "scheduled", "scheduled queued", "a time can be moved until it has come"),
    (
        "prioritize",
        EVER_WAITING,
        "scheduled queued retrying paused",
        "what waits can wait elsewhere",
    ),
    ("claim", WAITING, "processing", "a quick worker may be there before the mark of the send"),
    ("take_over", "processing stalled", "processing", "a dead worker's task goes on at once"),
    (
        "extend",
        "processing stalled",
        "processing",
        "a suspect can be saved by whoever gives it time",
    ),
    ("succeed", "processing stalled", "succeeded", "a suspicion never costs a result"),
    (
        "fail",
        "processing stalled",
        "failed timed_out retrying",
        "the policy decides, not the state",
    ),
    ("stall", "processing", "stalled", "a task is suspected before it is judged"),
    ("revive", "stalled", "processing", "a beat takes the suspicion back"),
    ("rescue", "stalled", "queued timed_out failed", "only a suspect is taken from its worker"),
    ("expire", EVER_WAITING, "timed_out", "no wait is for ever"),
    ("bury", WAITING, "failed", "a message that kills who reads it must not come for ever"),
    (
        "pause",
        "created queued processing stalled",
        "paused",
        "a draining worker hands back what it holds",
    ),
    ("resume", "paused", "queued", "what was handed back waits in its lane again"),
    (
        "cancel",
        f"{EVER_WAITING} processing stalled canceling",
        "canceled canceling",
        "every unfinished task can be canceled, and a soft cancel be made hard",
    ),
    ("stopped", "canceling", "canceled", "canceled only when nothing computes it any more"),
    ("reopen", "failed timed_out", "queued", "a person may give another life, to no success"),
    (
        "redeliver",
        " ".join(ENDED),
        " ".join(ENDED),
        "any end may be told of again, and stays as it is",
    ),
]


@pytest.mark.parametrize(
    ("verb", "sources", "targets"),
    [pytest.param(*promise[:3], id=f"{promise[0]}: {promise[3]}") for promise in PROMISES],
)
def test_a_verb_leads_from_these_states_to_those_and_no_others(
    verb: str, sources: str, targets: str
) -> None:
    rule = RULES[Verb(verb)]
    assert rule.sources == set(map(State, sources.split()))
    assert rule.targets == set(map(State, targets.split()))


def test_every_verb_has_its_promise() -> None:
    assert [promise[0] for promise in PROMISES] == [verb.value for verb in Verb]
