"""A TCP proxy on loopback that can swallow everything for a while, as a broken network does."""

from __future__ import annotations

import contextlib
import socket
import threading
from typing import Self


class BlackHole:
    """Forwards to a port of this machine; while `open`, bytes vanish and connections hang."""

    def __init__(self, port: int) -> None:
        self._target, self.open = port, False
        self._server = socket.create_server(("127.0.0.1", 0))
        self.port = self._server.getsockname()[1]
        self._sockets: list[socket.socket] = [self._server]
        self._threads = [threading.Thread(target=self._accept)]
        self._threads[0].start()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        for end in self._sockets:
            with contextlib.suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)
            end.close()
        for thread in self._threads:
            thread.join(5)

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                client, _ = self._server.accept()
                upstream = socket.create_connection(("127.0.0.1", self._target))
                self._sockets += [client, upstream]
                self._pump(client, upstream)
                self._pump(upstream, client)

    def _pump(self, source: socket.socket, sink: socket.socket) -> None:
        thread = threading.Thread(target=self._forward, args=(source, sink))
        self._threads.append(thread)
        thread.start()

    def _forward(self, source: socket.socket, sink: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while data := source.recv(65536):
                if not self.open:
                    sink.sendall(data)
            sink.shutdown(socket.SHUT_WR)
