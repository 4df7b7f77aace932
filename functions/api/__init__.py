"""The HTTP API: every route of `taskgate.routes`, behind one function."""
