"""The audit in memory keeps its promises, and reconcile repairs every drift on it."""

from __future__ import annotations

import pytest

from taskgate.task import Task
from taskgate.testing.conformance.audit import AuditConformance, AuditWorld
from taskgate.testing.memory import MemoryWorld
from taskgate.testing.memory.audit import MemoryAudit


class TestMemoryAudit(AuditConformance):
    @pytest.fixture
    def world(self) -> AuditWorld:
        memory = MemoryWorld()

        def force(task: Task) -> None:
            memory.tasks.tasks[task.id] = task

        return AuditWorld(memory.ports, audit=MemoryAudit(memory.tasks), force=force)
