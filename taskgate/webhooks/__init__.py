"""Signed callbacks by Standard Webhooks, for both ends: the gateway signs, a receiver verifies.

::

    from taskgate.webhooks import WebhookError, verify

    event = verify(raw_body, request.headers, "whsec_…")
"""

from taskgate.webhooks.deriving import secrets_for
from taskgate.webhooks.errors import (
    BadHeader,
    BadSecret,
    MissingHeader,
    NotAnEvent,
    OutsideTolerance,
    SignatureMismatch,
    WebhookError,
)
from taskgate.webhooks.signing import ID, SIGNATURE, TIMESTAMP, signed
from taskgate.webhooks.verifying import verify

__all__ = [
    "ID",
    "SIGNATURE",
    "TIMESTAMP",
    "BadHeader",
    "BadSecret",
    "MissingHeader",
    "NotAnEvent",
    "OutsideTolerance",
    "SignatureMismatch",
    "WebhookError",
    "secrets_for",
    "signed",
    "verify",
]
