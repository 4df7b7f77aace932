"""What a task may become, as pure functions: no clock, no network, no randomness of its own."""
