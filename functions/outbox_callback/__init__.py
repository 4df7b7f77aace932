"""The outbox: settles what ended tasks still owe; calls receivers, and nobody else does."""
