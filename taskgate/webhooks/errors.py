"""Why a callback is not to be believed. A class's docstring is its message.

::

    WebhookError
    ├── MissingHeader        one of the three headers is not there
    ├── BadHeader            a header is there, and says nothing that can be read
    ├── OutsideTolerance     signed too long ago, or in the future: a replay, or a wrong clock
    ├── SignatureMismatch    no signature is by a secret of yours over these bytes
    ├── NotAnEvent           signed by us, but no JSON object
    └── BadSecret            what you gave as a secret is none; your mistake, not the sender's
"""

from __future__ import annotations


class WebhookError(Exception):
    """The callback cannot be trusted."""

    def __init__(self, message: str | None = None) -> None:
        super().__init__(message or (type(self).__doc__ or "").strip())


class MissingHeader(WebhookError):
    """A header of the signature is missing."""

    def __init__(self, name: str) -> None:
        super().__init__(f"The header {name} is missing.")
        self.name = name


class BadHeader(WebhookError):
    """A header of the signature cannot be read."""

    def __init__(self, name: str, wanted: str) -> None:
        super().__init__(f"The header {name} must be {wanted}.")
        self.name = name


class OutsideTolerance(WebhookError):
    """The callback was signed too long ago, or in the future."""

    def __init__(self, age: float, tolerance: float) -> None:
        told = f"{age:.0f} s ago" if age > 0 else f"{-age:.0f} s in the future"
        super().__init__(f"The callback was signed {told}; {tolerance:.0f} s are allowed.")
        self.age = age


class SignatureMismatch(WebhookError):
    """No signature matches: another secret, or other bytes than those that were sent."""


class NotAnEvent(WebhookError):
    """The body is signed, but it is not a JSON object."""


class BadSecret(WebhookError):
    """A secret is `whsec_` and the base64 of 24 to 64 bytes."""
