"""What every port must do, a suite a port: the same in memory, on moto and on the emulator.

Subclass a suite, give it the fixture that it names, and pytest runs the promises.
"""

from taskgate.testing.conformance.store import StoreConformance
from taskgate.testing.conformance.world import World

__all__ = ["StoreConformance", "World"]
