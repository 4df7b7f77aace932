"""The supervisor's hand on the child: start it, talk to it, see it die, kill it with its family."""

from __future__ import annotations

import contextlib
import os
import re
import signal
import socket
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from gpu_worker.channel import Channel, ChannelClosed
from gpu_worker.protocol import BrokenFrame, Order, Word
from taskgate.events import event
from taskgate.scratch import remove

SEND_LIMIT: Final = 30.0
"""Seconds. A child that does not take its orders for so long is as good as dead."""
MAX_TRACE: Final = 3000
WITHHELD: Final = re.compile(
    r"AWS_(ACCESS_KEY|SECRET|SESSION_TOKEN|SECURITY_TOKEN|CONTAINER_|WEB_IDENTITY|ROLE|PROFILE|DEFAULT_PROFILE"
    r"|SHARED_CREDENTIALS|CONFIG_FILE)|ECS_"
)
"""Variables that hold credentials, or lead to them."""
_EXIT_SOON: Final = 2.0
KILL_LIMIT: Final = 10.0
"""Seconds until a killed child must be gone. One that hangs in the driver never is."""
_LEAVE: Final = (signal.SIGTERM, signal.SIGINT)


@dataclass(frozen=True, slots=True)
class Death:
    """How the child died, and the stack that it left if it could."""

    cause: str
    trace: str = ""
    maybe_memory: bool = False
    """SIGKILL that we did not send: most often the kernel's out-of-memory killer."""
    told_to_leave: bool = False
    """SIGTERM or SIGINT: whoever sends it to us may have sent it to all of our processes."""


class Child:
    """One living child. After a `Death`, or `kill`, start another."""

    def __init__(self, folder: Path, *, lend: bool = False) -> None:
        # Spawned by exec, never forked: a fork of a process with threads may inherit held locks.
        # Start it in a thread that lives on: the kernel kills it when its *thread* ends.
        self._folder, self._crash_file = folder, folder / "crash.txt"
        ours, theirs = socket.socketpair()
        ours.settimeout(SEND_LIMIT)
        with theirs:
            self._process = _start(theirs, folder, self._crash_file, lend=lend)
        self._channel = Channel(ours)
        self.loaded: set[str] = set()
        self.alive = True
        self.unkillable = False

    @property
    def pid(self) -> int:
        return self._process.pid

    def send(self, order: Order) -> None:
        """Give an order. A child that does not take it is killed, and the next `receive` sees it."""
        try:
            self._channel.send(order)
        except ChannelClosed:
            self._strike()

    def receive(self, timeout: float) -> Word | Death | None:
        """What the child says next, that it died, or None when `timeout` seconds brought nothing."""
        try:
            word: Word | None = self._channel.receive(timeout)
        except ChannelClosed:
            return self._buried()
        except BrokenFrame as error:
            self.kill()
            return Death(f"it broke the protocol: {error}")
        # A grandchild may hold the line open after the child is gone.
        return word if word is not None or not self._exited() else self._buried()

    def kill(self) -> None:
        """End it and everything that it started, now."""
        self.alive = False
        self._strike()
        try:
            self._process.wait(KILL_LIMIT)
        except subprocess.TimeoutExpired:
            self.unkillable = True
            event("child_unkillable", pid=self.pid)
        self._channel.close()
        remove(self._folder)

    def _strike(self) -> None:
        # Not reaped yet, so the number cannot mean another group by now.
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, signal.SIGKILL)

    def _exited(self) -> bool:
        if self._process.returncode is not None:
            return True
        if not hasattr(os, "waitid"):  # macOS before Python 3.13
            return self._process.poll() is not None
        flags = os.WEXITED | os.WNOHANG | os.WNOWAIT
        return os.waitid(os.P_PID, self._process.pid, flags) is not None

    def _buried(self) -> Death:
        closed_at = time.monotonic()
        while not self._exited() and time.monotonic() - closed_at < _EXIT_SOON:
            time.sleep(0.01)
        hung_up = not self._exited()
        trace = self._trace()
        self.kill()
        if hung_up:
            return Death("it closed its line to the supervisor", trace)
        return _death(self._process.returncode or 0, trace)

    def _trace(self) -> str:
        try:
            return self._crash_file.read_text("utf-8", "replace")[:MAX_TRACE]
        except OSError:
            return ""


def _start(
    line: socket.socket, folder: Path, crash_file: Path, *, lend: bool
) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "gpu_worker.child", f"--line={line.fileno()}"]
    command += [f"--parent={os.getpid()}", f"--crash-file={crash_file}"]
    return subprocess.Popen(
        command,
        stdin=subprocess.DEVNULL,
        pass_fds=(line.fileno(),),
        start_new_session=True,
        env=_environment(folder, lend=lend),
    )


def _environment(folder: Path, *, lend: bool) -> dict[str, str]:
    """The child imports what we could import, and its temporary files go when it goes.

    It has no use for the worker's rights, which reach every tenant's tasks, unless they are lent.
    """
    paths = [p for p in sys.path if p]
    own = {name: text for name, text in os.environ.items() if lend or not WITHHELD.match(name)}
    if not lend:
        own["AWS_EC2_METADATA_DISABLED"] = "true"
    return {**own, "PYTHONPATH": os.pathsep.join(paths), "TMPDIR": str(folder)}


def _death(code: int, trace: str) -> Death:
    if code >= 0:
        return Death(f"exit code {code}", trace, maybe_memory=code == 128 + signal.SIGKILL)
    with contextlib.suppress(ValueError):
        number = signal.Signals(-code)
        memory, leave = number is signal.SIGKILL, number in _LEAVE
        return Death(f"signal {number.name}", trace, memory, leave)
    return Death(f"signal {-code}", trace)
