"""Products for tests: in-memory ports, a virtual clock, factories, and the conformance suite."""
