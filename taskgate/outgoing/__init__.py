"""Where a callback may go: judged by its text at submit, and by its addresses before it is sent."""
