"""What a person asks of a task that is under way, and how its worker is told."""
