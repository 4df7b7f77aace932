"""What an ended task still owes: its callback, its follow-ups, its clean-up, its news."""
