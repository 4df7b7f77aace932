"""Tells an EventBridge bus of every transition. Off unless the stage asks for it."""
