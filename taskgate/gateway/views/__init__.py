"""What is read, and how it is told: one task, lists, what it waits for, who works."""
