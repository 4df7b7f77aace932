"""One runner class a task type; only the child process imports these."""
