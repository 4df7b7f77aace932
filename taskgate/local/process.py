"""A child process that writes its own log, cannot outlive us, and is stopped by its id."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path


class Child:
    """A module that runs as a child process, in a session of its own.

    A session of its own, so that Ctrl-C in a terminal reaches only us, and we can stop the
    workers before the emulator that they need to say goodbye.
    """

    def __init__(self, module: str, *, variables: Mapping[str, str], log: Path) -> None:
        log.parent.mkdir(parents=True, exist_ok=True)
        self.log = log
        with log.open("ab") as out:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "taskgate.local.tether", module],
                stdin=subprocess.PIPE,
                stdout=out,
                stderr=subprocess.STDOUT,
                env=dict(variables),
                start_new_session=True,
            )

    @property
    def pid(self) -> int:
        """The process id."""
        return self._process.pid

    @property
    def exit_code(self) -> int | None:
        """None while it runs."""
        return self._process.poll()

    def signal(self, number: signal.Signals) -> None:
        """Send a signal to the process; nothing happens when it has ended."""
        self._process.send_signal(number)

    def stop(self, timeout: float = 15) -> int:
        """Ask it to end and wait; then kill whatever of it, or of what it started, is left."""
        self._process.terminate()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(timeout)
        # Also after a good end: a process that was killed leaves its own children behind.
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.pid, signal.SIGKILL)
        if self._process.stdin:
            self._process.stdin.close()
        return self._process.wait()

    def last_lines(self, count: int = 20) -> str:
        """The end of its log, for an error message."""
        return "\n".join(self.log.read_text(errors="replace").splitlines()[-count:])


def plain_variables() -> dict[str, str]:
    """The few variables that any process needs, without AWS settings or our own.

    Nothing else of this environment may leak in: a function that lacks a variable in the
    template must fail here as it would on AWS.
    """
    wanted = ("PATH", "HOME", "LANG", "LC_ALL", "TZ", "SSL_CERT_FILE")
    return {name: os.environ[name] for name in wanted if name in os.environ}
