"""The Lambda rooms. Each is thin: parse the event, call the gateway, shape the answer."""

from typing import Final

VERSION: Final = "0.1.0"
"""The project's version; the bundle carries no package metadata to read it from."""
