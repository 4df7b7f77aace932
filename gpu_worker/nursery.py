"""Keeps one fit child: starts it, sets its runners up, and replaces it after a death."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import Final

from gpu_worker.attempt import SIGNALS_SPREAD, failure_of
from gpu_worker.child_process import Child, Death
from gpu_worker.fitness import Check, family_is_gone, first_problem
from gpu_worker.limits import startup_timeout
from gpu_worker.protocol import Failed, Load, Loaded, Ready, Word
from gpu_worker.stop import Stop
from taskgate.catalog import TaskType
from taskgate.events import event
from taskgate.scratch import Scratch

BOOT_LIMIT: Final = 60.0
"""Seconds until the child's interpreter must be up."""
_TICK: Final = 0.2


class Unfit(Exception):
    """This worker cannot run tasks; somebody has to look at its host."""


class Nursery:
    """Asked for a child before each claim, so that no task is ever claimed for an unfit one."""

    def __init__(
        self,
        scratch: Scratch,
        preload: Sequence[TaskType],
        checks: Sequence[Check],
        stop: Stop,
        moves: Callable[[], None] = lambda: None,
        empty_checks: Sequence[Check] = (),
        *,
        lend: bool = False,
    ) -> None:
        self._scratch, self._preload, self._checks, self._stop = scratch, preload, checks, stop
        self._moves = moves
        self._empty_checks, self._lend = empty_checks, lend
        self._child: Child | None = None
        self._doubt: str | None = None

    def doubt(self, why: str) -> None:
        """A run was cut off: before the next claim the host proves its fitness, child or no child."""
        self._doubt = why

    def child(self) -> Child | None:
        """A living child with its runners set up; None when asked to leave meanwhile.

        Raises `Unfit`. A child that died, or was killed, makes the host prove its fitness again.
        """
        alive = self._child is not None and self._child.alive and not self.died_idle(self._child)
        if alive and self._child is not None and self._doubt and not self._still_fit():
            self._child.kill()
            alive = False
        if not alive:
            self._child = self._raise_one()
        self._doubt = None
        return self._child

    def _still_fit(self) -> bool:
        """Whether the GPU answers while the child lives on with its models."""
        problem = first_problem(self._checks)
        event("checked", why=self._doubt, problem=problem)
        return problem is None

    def died_idle(self, child: Child) -> bool:
        """Whether the child died while it had nothing to do."""
        while (word := child.receive(0)) is not None:
            if isinstance(word, Death):
                event("child_died", cause=word.cause, idle="yes")
                return True
        return False

    def close(self) -> None:
        """No child is left."""
        if self._child is not None and self._child.alive:
            self._child.kill()

    def _raise_one(self) -> Child | None:
        if self._child is not None and self._child.unkillable:
            # It may hold the GPU and its memory: nothing else can run beside it.
            raise Unfit(f"the killed child {self._child.pid} does not end")
        if problem := self._first_problem():
            raise Unfit(problem)
        began = time.monotonic()
        child = Child(self._scratch.folder("child"), lend=self._lend)
        try:
            ready = self._expect(child, Ready(), BOOT_LIMIT, "the child did not start") and all(
                self._set_up(child, task_type) for task_type in self._preload
            )
        except Unfit:
            child.kill()
            raise
        if not ready:
            child.kill()
            return None
        event("child_ready", pid=child.pid, seconds=round(time.monotonic() - began, 3))
        return child

    def _first_problem(self) -> str | None:
        """With no child alive: is the last one gone with all it started, and its memory free?"""
        gone = () if self._child is None else (partial(family_is_gone, self._child.pid),)
        return first_problem((*gone, *self._checks, *self._empty_checks))

    def _set_up(self, child: Child, task_type: TaskType) -> bool:
        if task_type.runner in child.loaded:
            return True
        child.send(Load(task_type.runner))
        limit = task_type.startup_timeout
        problem = f"{task_type.name}: {startup_timeout(limit).message}"
        child.loaded.add(task_type.runner)
        return self._expect(child, Loaded(task_type.runner), limit, problem)

    def _expect(self, child: Child, wanted: Word, seconds: float, problem: str) -> bool:
        """Wait for that very word; False when asked to leave first."""
        until = time.monotonic() + seconds
        while time.monotonic() < until and not self._stop.asked:
            self._moves()
            word = child.receive(_TICK)
            if word == wanted:
                return True
            if isinstance(word, Failed):
                raise Unfit(f"setup failed: {failure_of(word).message}")
            if isinstance(word, Death):
                if word.told_to_leave and self._stop.wait(SIGNALS_SPREAD):
                    return False
                raise Unfit(f"the child died while starting: {word.cause}")
        if self._stop.asked:
            return False
        raise Unfit(problem)
