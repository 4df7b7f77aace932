"""The stale sweep: the scheduled look at every task whose clock is due."""
