"""The dead-letter room: keeps what a lane gave up, and sees to its task."""
