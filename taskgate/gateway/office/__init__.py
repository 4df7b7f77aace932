"""What operators keep: keys, plans, bulk acts, dead letters, the books."""
