"""A connection under one clock: connect, handshake, every send and every read share what is left.

A socket's own time-out starts anew with each byte, so a receiver that drips could hold it for ever.
"""

from __future__ import annotations

import io
import socket
import ssl
import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

MOST_BYTES: Final = 64 * 1024
"""Of an answer, headers and all, that are read."""


class TooMuch(Exception):
    """The answer is longer than we read."""


class Clock:
    """Seconds until all must be over."""

    def __init__(self, seconds: float, now: Callable[[], float] = time.monotonic) -> None:
        self._now, self._ends = now, now() + seconds

    def left(self, most: float = float("inf")) -> float:
        """What is left, but no more than `most`; `TimeoutError` when nothing is."""
        left = self._ends - self._now()
        if left <= 0:
            raise TimeoutError("the time for the attempt is over")
        return min(left, most)


class Wire:
    """One connection to an address that was judged. Nothing is looked up, no proxy is asked."""

    def __init__(self, sock: socket.socket, clock: Clock) -> None:
        self._sock, self._clock = sock, clock
        self.ended = False
        """The other side has said all."""

    @classmethod
    def open(cls, addresses: Sequence[str], port: int, seconds: float, clock: Clock) -> Wire:
        """Connect to the first address that answers; all of them share `seconds`."""
        within = Clock(clock.left(seconds))
        failure: OSError = OSError("there is no address")
        for position, address in enumerate(addresses):
            try:
                share = within.left() / (len(addresses) - position)
                return cls(_connected(address, port, share), clock)
            except OSError as error:
                failure = error
        raise failure

    def secure(self, context: ssl.SSLContext, name: str) -> None:
        """TLS, with SNI of the name and a certificate that bears it."""
        self._sock.settimeout(self._clock.left())
        self._sock = context.wrap_socket(self._sock, server_hostname=name)

    def send(self, data: bytes) -> None:
        unsent = memoryview(data)
        while unsent:
            self._sock.settimeout(self._clock.left())
            unsent = unsent[self._sock.send(unsent) :]

    def makefile(self, mode: str = "rb") -> io.BufferedReader:
        """What `http.client.HTTPResponse` asks of a socket."""
        del mode
        return io.BufferedReader(_Reading(self))

    def receive_into(self, view: memoryview) -> int:
        self._sock.settimeout(self._clock.left())
        read = self._sock.recv_into(view)
        self.ended = not read
        return read

    def close(self) -> None:
        self._sock.close()


class _Reading(io.RawIOBase):
    def __init__(self, wire: Wire) -> None:
        self._wire, self._left = wire, MOST_BYTES

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: WriteableBuffer) -> int:
        if self._left <= 0:
            raise TooMuch
        with memoryview(buffer).cast("B") as view:
            read = self._wire.receive_into(view[: self._left])
        self._left -= read
        return read


def _connected(address: str, port: int, seconds: float) -> socket.socket:
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    sock = socket.socket(family, socket.SOCK_STREAM)
    try:
        sock.settimeout(seconds)
        sock.connect((address, port))
    except BaseException:
        sock.close()
        raise
    return sock
