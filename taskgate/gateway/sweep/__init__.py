"""What is done about clocks that have come due."""
