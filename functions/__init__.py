"""The Lambda rooms. Each is thin: parse the event, call the gateway, shape the answer."""

from taskgate.version import VERSION

__all__ = ["VERSION"]
