"""The line between supervisor and child: whole messages in order, or the news that it is cut."""

from __future__ import annotations

import select
import socket
import threading
import time
from typing import Any, Final

from gpu_worker.protocol import BrokenFrame, Order, Word, decode, encode

MAX_FRAME: Final = 8 * 1024 * 1024
"""Far above any honest message; a child that sends more has lost its mind."""


class ChannelClosed(Exception):
    """The other side is gone."""


class Channel:
    """One end of the line. One thread receives; any thread may send."""

    def __init__(self, end: socket.socket) -> None:
        self._end, self._buffer, self._sending = end, bytearray(), threading.Lock()
        self._poll = select.poll()
        self._poll.register(end, select.POLLIN)

    def send(self, message: Order | Word) -> None:
        """Raises `ChannelClosed` when nobody listens any more."""
        try:
            with self._sending:
                self._end.sendall(encode(message))
        except OSError as error:
            raise ChannelClosed from error

    def receive(self, timeout: float | None = None) -> Any:
        """The next message, or None when `timeout` seconds brought none."""
        until = None if timeout is None else time.monotonic() + timeout
        while (cut := self._buffer.find(b"\n")) < 0:
            if len(self._buffer) > MAX_FRAME:
                raise BrokenFrame("a frame without end")
            if not self._fill(until):
                return None
        line = bytes(self._buffer[:cut])
        del self._buffer[: cut + 1]
        return decode(line)

    def close(self) -> None:
        """Hang up; the other side sees it at once."""
        self._end.close()

    def _fill(self, until: float | None) -> bool:
        rest = None if until is None else max(0.0, until - time.monotonic()) * 1000
        if not self._poll.poll(rest):
            return False
        try:
            data = self._end.recv(65536)
        except OSError as error:
            raise ChannelClosed from error
        if not data:
            raise ChannelClosed
        self._buffer += data
        return True
