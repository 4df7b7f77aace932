"""Cold start of the authorizer. It imports no more than the read of a key and of its plan take."""

from __future__ import annotations

import functools
import logging
import os
import sys
import time
from collections.abc import Mapping
from typing import Any

from functions.authorizer.jwks import Jwks, fetch
from functions.authorizer.remembered import RememberedKeys, RememberedPlans
from functions.authorizer.tokens import Tokens
from functions.authorizer.verdict import verdict
from taskgate.aws.clients import dynamodb
from taskgate.aws.keys import DynamoKeys
from taskgate.aws.plans import DynamoPlans
from taskgate.events import LOG
from taskgate.issuer import TrustedIssuer
from taskgate.settings import Environment

_ENVIRONMENT = Environment.read(os.environ)
_DYNAMODB, _TABLE = dynamodb(), _ENVIRONMENT.tasks_table
_KEYS = RememberedKeys(DynamoKeys(_DYNAMODB, table=_TABLE), time.monotonic)
_PLANS = RememberedPlans(DynamoPlans(_DYNAMODB, table=_TABLE), time.monotonic)
_TRUSTED = TrustedIssuer.read(_ENVIRONMENT.trusted_issuer)
_TOKENS = (
    Tokens(_TRUSTED, Jwks(functools.partial(fetch, _TRUSTED.jwks_url), time.monotonic))
    if _TRUSTED
    else None
)

# Events are JSON lines already: a bare handler does, and Powertools' logger costs 50 ms to import.
LOG.setLevel(logging.INFO)
LOG.propagate = False
LOG.handlers = [logging.StreamHandler(sys.stdout)]


def handler(event: Mapping[str, Any], context: Any) -> dict[str, Any]:
    """One REQUEST event (payload 2.0) in, one simple response out."""
    del context
    return verdict(_KEYS, _PLANS, event, int(time.time()), _TOKENS)
