"""The `taskgate` command, over the SDK."""
