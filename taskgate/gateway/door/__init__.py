"""What stands between a request and a queue: limits, inputs, uploads, times, priority."""
