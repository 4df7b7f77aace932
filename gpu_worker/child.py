"""The child process: holds the models, runs one task at a time, and is allowed to die.

``python -m gpu_worker.child --line FD --parent PID --crash-file PATH``, started by the supervisor.
"""

from __future__ import annotations

import argparse
import contextlib
import ctypes
import faulthandler
import importlib
import os
import queue
import resource
import signal
import socket
import sys
import threading
from pathlib import Path
from typing import Any, Final

from gpu_worker.channel import Channel, ChannelClosed
from gpu_worker.context import Context, TaskCanceled
from gpu_worker.error_table import check
from gpu_worker.failures import failed, judge
from gpu_worker.output import to_json
from gpu_worker.protocol import (
    Cancel,
    Drain,
    Failed,
    Finished,
    Load,
    Loaded,
    Order,
    Ready,
    Run,
    Snoozed,
    Stopped,
    TimeLeft,
    Word,
)
from gpu_worker.runner import Snooze, Verdict
from gpu_worker.trace import in_trace
from taskgate.lifecycle.retry import ErrorClass, ErrorCode

_PR_SET_PDEATHSIG: Final = 1
_STARTUP: Final = Verdict(ErrorCode.STARTUP_FAILED, ErrorClass.TRANSIENT, restart=True)


class ModelHost:
    """Sets runners up once each and runs what it is told, one at a time."""

    def __init__(self, channel: Channel) -> None:
        self._channel = channel
        self._orders: queue.SimpleQueue[Load | Run] = queue.SimpleQueue()
        self._runners: dict[str, Any] = {}
        self._draining = threading.Event()
        self._running: Context | None = None
        self._canceled = 0

    def serve(self) -> None:
        """Until the supervisor hangs up."""
        threading.Thread(target=self._listen, daemon=True, name="ear").start()
        self._channel.send(Ready())
        while True:
            order = self._orders.get()
            word = self._load(order) if isinstance(order, Load) else self._run(order)
            self._channel.send(word)

    def _listen(self) -> None:
        try:
            while True:
                self._heard(self._channel.receive())
        finally:
            # Nobody is left to report to; the model may be deep in C, so do not ask it.
            os._exit(0)

    def _heard(self, order: Order) -> None:
        match order:
            case Cancel():
                self._canceled = order.number
                self._pass_on_cancel()
            case Drain():
                self._draining.set()
            case TimeLeft():
                self._pass_on_time(order)
            case _:
                self._orders.put(order)

    def _pass_on_cancel(self) -> None:
        # The run may not have begun, or be over: the number says which one is meant.
        running = self._running
        if running is not None and running.number == self._canceled:
            running.cancel()

    def _pass_on_time(self, news: TimeLeft) -> None:
        running = self._running
        if running is not None and running.number == news.number:
            running.hear(news)

    def _load(self, order: Load) -> Word:
        try:
            module, _, name = order.runner.partition(":")
            runner = getattr(importlib.import_module(module), name)()
            check(getattr(runner, "errors", {}))
            runner.setup()
        except BaseException as error:  # noqa: BLE001  a model's start may raise anything
            return failed(0, error, _STARTUP)
        self._runners[order.runner] = runner
        return Loaded(order.runner)

    def _run(self, order: Run) -> Word:
        runner = self._runners[order.runner]
        self._running = context = Context(order, self._channel, self._draining)
        self._pass_on_cancel()
        try:
            with in_trace(order):
                output = to_json(runner.run(context, **order.input))
            return Finished(order.number, context.files(), output)
        except BaseException as error:  # noqa: BLE001  a model may raise anything, even SystemExit
            return _ended(context, error, runner)
        finally:
            self._running = None


def _ended(context: Context, error: BaseException, runner: Any) -> Stopped | Snoozed | Failed:
    if isinstance(error, TaskCanceled) and context.canceled:
        return Stopped(context.number)
    if isinstance(error, Snooze):
        return Snoozed(context.number, error.seconds)
    return failed(context.number, error, judge(error, getattr(runner, "errors", None)))


def main() -> None:
    """Take the line over from the supervisor, and serve."""
    arguments = _arguments()
    _die_with(arguments.parent)
    _die_small()
    line = socket.socket(fileno=arguments.line)
    line.set_inheritable(False)
    # What models print must not go where anything else is read.
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    with Path(arguments.crash_file).open("w") as crash:
        faulthandler.enable(crash)
        try:
            ModelHost(Channel(line)).serve()
        except ChannelClosed:
            os._exit(0)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="gpu_worker.child")
    parser.add_argument("--line", type=int, required=True)
    parser.add_argument("--parent", type=int, required=True)
    parser.add_argument("--crash-file", required=True)
    return parser.parse_args()


def _die_with(parent: int) -> None:
    """Have the kernel kill us when the supervisor dies, however it dies (Linux)."""
    if sys.platform == "linux":
        ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        os._exit(0)


def _die_small() -> None:
    """When memory runs out the kernel shall take the model, and no core file shall be written.

    The supervisor must survive to report it; and a core of a model's size takes minutes, in which
    nobody would know that the child is dead. Its stack goes to the crash file all the same.
    """
    resource.setrlimit(resource.RLIMIT_CORE, (0, resource.getrlimit(resource.RLIMIT_CORE)[1]))
    with contextlib.suppress(OSError):
        Path("/proc/self/oom_score_adj").write_text("800")


if __name__ == "__main__":
    main()
