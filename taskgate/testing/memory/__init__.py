"""The ports in memory, one a file: for tests, and for reading how a store must behave.

Each is held to the same conformance suite as its port on AWS.
"""

from taskgate.testing.memory.tasks import MemoryStore
from taskgate.testing.memory.world import MemoryWorld

__all__ = ["MemoryStore", "MemoryWorld"]
