"""Looks names up in bounded time: `getaddrinfo` knows no time limit of its own."""

from __future__ import annotations

import socket
import threading
from collections.abc import Sequence
from queue import Empty, SimpleQueue
from typing import Any, Final

from taskgate.outgoing.guard import Resolve

SECONDS: Final = 3.0

_Found = Sequence[tuple[Any, ...]]


def within(seconds: float = SECONDS, resolve: Resolve = socket.getaddrinfo) -> Resolve:
    """`resolve`, but `TimeoutError` after so many seconds; what comes later is thrown away."""

    def bounded(*asked: Any, **hints: Any) -> _Found:
        answer: SimpleQueue[_Found | Exception] = SimpleQueue()
        threading.Thread(target=_ask, args=(answer, resolve, asked, hints), daemon=True).start()
        try:
            found = answer.get(timeout=seconds)
        except Empty:
            raise TimeoutError("the name was not looked up in time") from None
        if isinstance(found, Exception):
            raise found
        return found

    return bounded


def _ask(
    answer: SimpleQueue[_Found | Exception],
    resolve: Resolve,
    asked: tuple[Any, ...],
    hints: dict[str, Any],
) -> None:
    try:
        answer.put(resolve(*asked, **hints))
    except Exception as error:  # noqa: BLE001  whatever it is, it is raised to the one who asked
        answer.put(error)
