"""Delivery of one callback: may it go now, what came of the attempt, when is the next. Decides only."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from taskgate import receivers as breaker
from taskgate.events import event
from taskgate.receivers import Health, Receivers

SCHEDULE: Final = (0, 5, 30, 120, 900, 3600, 21_600, 86_400)
"""Seconds before each attempt, counted from the one before it; the first counts from the end."""
SPREAD: Final = 0.2
"""Each pause is longer or shorter by up to this share of it."""
LONGEST_RETRY_AFTER: Final = 86_400
"""A receiver that asks for more seconds gets these."""
OWED_AT_MOST_MS: Final = 72 * 3600 * 1000
"""A task that only ever was put off is given up after this: each task's end has an end."""


class Reason(StrEnum):
    """What came of an attempt. Stable; shown to the owner."""

    OK = "ok"
    GONE = "gone"
    REDIRECT = "redirect"
    THROTTLED = "throttled"
    REFUSED = "refused"
    SERVER_ERROR = "server_error"
    TIMEOUT = "timeout"
    CONNECT = "connect"
    RESET = "reset"
    TLS = "tls"
    DNS = "dns"
    MALFORMED = "malformed"
    UNSAFE = "unsafe"


_BY_STATUS: Final = {410: Reason.GONE, 429: Reason.THROTTLED}
_BY_CLASS: Final = {
    2: Reason.OK,
    3: Reason.REDIRECT,
    4: Reason.REFUSED,
    5: Reason.SERVER_ERROR,
}


@dataclass(frozen=True, slots=True)
class Attempt:
    """One try, as it is kept and listed: nothing of the receiver's answer but its status."""

    status: int | None
    """None when there was no whole answer."""
    reason: Reason
    ms: int
    retry_after: float | None = None
    """Seconds that the receiver asked for."""
    detail: str = ""
    """More about the reason, in words of ours or of the TLS library."""

    @property
    def host_is_ill(self) -> bool | None:
        """True and False move the breaker; None says nothing about the host.

        A 404 or a redirect is one hook's mistake: others on the host still have to be tried.
        """
        if self.reason is Reason.UNSAFE:
            return None
        return self.status is None or self.status >= 500 or self.reason is Reason.THROTTLED


@dataclass(frozen=True, slots=True)
class Delivered:
    """The receiver has it."""


@dataclass(frozen=True, slots=True)
class TryAt:
    """Try again, at this time (epoch ms)."""

    when: int


@dataclass(frozen=True, slots=True)
class GiveUp:
    """Do not try again, and why."""

    reason: str


@dataclass(frozen=True, slots=True)
class Go:
    """Send it. Hand this back to `note` when it is known what came of it."""

    seen: Health
    probe: bool = False
    in_line: bool = False
    """A backlog is about: take a `turn` right before it is sent."""


@dataclass(frozen=True, slots=True)
class PutOff:
    """Not now: the receiver is ill. This is no attempt. Look again at this time (epoch ms)."""

    until: int


def answered(status: int) -> Reason:
    """What a status says."""
    return _BY_STATUS.get(status) or _BY_CLASS.get(status // 100, Reason.MALFORMED)


def decide(attempt: Attempt, tries: int, *, now: int, draw: float) -> Delivered | TryAt | GiveUp:
    """What follows from an attempt, the `tries`-th of this callback (from 1). `draw` is in [0, 1)."""
    if attempt.reason is Reason.OK:
        return Delivered()
    if attempt.reason is Reason.GONE:
        return GiveUp("the receiver answered 410: it wants no more")
    if tries >= len(SCHEDULE):
        return GiveUp(f"{tries} attempts; the last one: {attempt.reason}")
    pause = SCHEDULE[tries] * (1 - SPREAD + 2 * SPREAD * draw)
    return TryAt(now + round(max(pause, _asked_for(attempt, draw)) * 1000))


def admit(
    receivers: Receivers, receiver: str, *, owed_since: int, now: int
) -> Go | PutOff | GiveUp:
    """Whether a callback that is due may go to its receiver now. One read while the host is well."""
    seen = receivers.get(receiver)
    if not seen.is_open:
        return Go(seen, in_line=now < seen.line_at + breaker.LATE_MS)
    probe = breaker.probing(seen, now)
    if seen.next_probe_at <= now and (recorded := receivers.swap(receiver, seen, probe)):
        return Go(recorded, probe=True)
    if now - owed_since >= OWED_AT_MOST_MS:
        return GiveUp("the receiver has been out of reach for 3 days")
    # Behind a probe under way, or behind the one to come.
    not_before = seen.next_probe_at if seen.next_probe_at > now else probe.next_probe_at
    return PutOff(receivers.line_up(receiver, not_before, breaker.SLOT_MS))


def turn(receivers: Receivers, receiver: str, now: int) -> int:
    """When one of a backlog may be sent (epoch ms): each has a moment of its own, whenever the queue
    brings its task. A queue delays by whole seconds, and may be late.

    The wait is short: as many turns are taken at once as attempts are under way at once.
    """
    return receivers.line_up(f"{receiver}|turn", now, breaker.SLOT_MS)


def note(
    receivers: Receivers, receiver: str, went: Go, attempt: Attempt, *, now: int, draw: float
) -> None:
    """Record what the attempt says about the receiver. No call while the host is and was well.

    A few tries and no more: a count that is lost to others' counts is made good by the next failure.
    """
    seen, ill = went.seen, attempt.host_is_ill
    for _ in range(3):
        new = _after(seen, now, draw, ill=ill, probe=went.probe)
        if new == seen or receivers.swap(receiver, seen, new):
            _tell(receiver, seen, new)
            return
        seen = receivers.get(receiver)


def _asked_for(attempt: Attempt, draw: float) -> float:
    """Seconds that a busy receiver asked for, and up to a tenth more, so not all come at once."""
    if attempt.status not in {429, 503} or attempt.retry_after is None:
        return 0.0
    return min(attempt.retry_after, LONGEST_RETRY_AFTER) * (1 + 0.1 * draw)


def _after(seen: Health, now: int, draw: float, *, ill: bool | None, probe: bool) -> Health:
    if ill is None:
        return seen
    return breaker.failed(seen, now, draw, probe=probe) if ill else breaker.answered(seen)


def _tell(receiver: str, seen: Health, new: Health) -> None:
    if seen.is_open != new.is_open:
        word = "receiver_opened" if new.is_open else "receiver_closed"
        event(word, receiver=breaker.mark_of(receiver), failures=max(seen.failures, new.failures))
