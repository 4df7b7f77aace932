"""Runners that misbehave in each way that models do. Only tests have them in a catalog."""

from __future__ import annotations

import ctypes
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any, NoReturn

from gpu_worker.runner import Context, Permanent, Runner, Snooze, TaskCanceled, Transient


class Chaos(Runner):
    """Does what the input says: one method a mischief."""

    def setup(self) -> None:
        self.runs = 0

    def run(self, ctx: Context, act: str, seconds: float = 0.0, text: str = "") -> Any:
        self.runs += 1
        return getattr(self, act)(ctx, seconds, text)

    def echo(self, ctx: Context, seconds: float, text: str) -> dict[str, Any]:
        ctx.progress(0.5, "echo")
        ctx.file("echo.txt", "text/plain").write_text(text, "utf-8")
        ctx.wait(seconds)
        return {"text": text, "runs": self.runs, "pid": os.getpid(), "attempt": ctx.attempt}

    def tell_trace(self, ctx: Context, seconds: float, text: str) -> dict[str, Any]:
        told = {name: os.environ.get(name) for name in ("TRACEPARENT", "TRACESTATE")}
        return {"traceparent": ctx.traceparent, "tracestate": ctx.tracestate, **told}

    def segfault(self, ctx: Context, seconds: float, text: str) -> None:
        ctypes.string_at(0)

    def exit(self, ctx: Context, seconds: float, text: str) -> NoReturn:
        os._exit(137)

    def hold_gil(self, ctx: Context, seconds: float, text: str) -> dict[str, Any]:
        # PyDLL keeps the GIL during the call: no other thread of this process runs meanwhile.
        ctypes.PyDLL(None).usleep(ctypes.c_uint(int(seconds * 1_000_000)))
        return {}

    def ignore_cancel(self, ctx: Context, seconds: float, text: str) -> NoReturn:
        ctx.stage("looping")
        while True:
            try:
                ctx.progress(0.5)
            except BaseException:  # noqa: BLE001  the mischief
                time.sleep(0)

    def report_for_ever(self, ctx: Context, seconds: float, text: str) -> NoReturn:
        while True:
            ctx.progress(0.1, "reporting")
            time.sleep(0.005)

    def clean_up_on_cancel(self, ctx: Context, seconds: float, text: str) -> None:
        try:
            self.report_for_ever(ctx, seconds, text)
        except TaskCanceled:
            Path(text).write_text("cleaned up")
            raise

    def out_of_memory(self, ctx: Context, seconds: float, text: str) -> NoReturn:
        raise MemoryError("no room for 64 GB")

    def huge_traceback(self, ctx: Context, seconds: float, text: str) -> None:
        def deep(n: int) -> None:
            if n == 0:
                raise RuntimeError("x" * 1_000_000 + "\ud800")
            deep(n - 1)

        deep(500)

    def not_a_number(self, ctx: Context, seconds: float, text: str) -> dict[str, Any]:
        return {"score": float("nan")}

    def print_noise(self, ctx: Context, seconds: float, text: str) -> dict[str, Any]:
        sys.stdout.write('{"kind": "Finished", "number": 1}\n')
        sys.stderr.write('{"kind": "Finished"}\n')
        os.system("echo from a shell")  # noqa: S605
        return {"said": "it"}

    def leave_family(self, ctx: Context, seconds: float, text: str) -> NoReturn:
        child = subprocess.Popen(["sleep", "60"])
        Path(text).write_text(str(child.pid))
        os._exit(1)

    def permanent(self, ctx: Context, seconds: float, text: str) -> NoReturn:
        raise Permanent("the prompt is longer than the model's limit")

    def transient(self, ctx: Context, seconds: float, text: str) -> NoReturn:
        raise Transient("the upstream is busy", retry_after=1)

    def hang_once(self, ctx: Context, seconds: float, text: str) -> dict[str, Any]:
        ctx.wait(60 if ctx.attempt == 1 else 0)
        return {"attempt": ctx.attempt}

    def steps(self, ctx: Context, seconds: float, text: str) -> dict[str, Any]:
        first = int(ctx.checkpoint or 0)
        for step in range(first, int(text)):
            ctx.save_checkpoint(str(step))
            ctx.wait(seconds)
        return {"first": first, "attempt": ctx.attempt}

    def extend(self, ctx: Context, seconds: float, text: str) -> dict[str, Any]:
        until, calls = time.monotonic() + float(text), 0
        while time.monotonic() < until:
            left = ctx.extend(seconds)
            calls += 1
            ctx.wait(0.01)
        return {"left": left, "calls": calls}

    def watch_time(self, ctx: Context, seconds: float, text: str) -> dict[str, Any]:
        first = ctx.seconds_left
        while ctx.seconds_left < seconds:
            ctx.wait(0.05)
        return {"first": first, "now": ctx.seconds_left}

    def snooze(self, ctx: Context, seconds: float, text: str) -> dict[str, Any]:
        if ctx.attempt == 1:
            raise Snooze(seconds)
        return {"attempt": ctx.attempt}

    def checkpointed(self, ctx: Context, seconds: float, text: str) -> dict[str, Any]:
        if ctx.checkpoint:
            return {"from": ctx.checkpoint}
        ctx.save_checkpoint("step 3")
        ctx.stage("saved")
        time.sleep(60)
        return {}


class EndlessSetup(Runner):
    """Never gets ready."""

    def setup(self) -> None:
        time.sleep(3600)


class BrokenSetup(Runner):
    """Cannot get ready."""

    def setup(self) -> None:
        raise RuntimeError("CUDA driver version is insufficient")
