"""The master key of callback signatures and cursors, from Secrets Manager: read once, never logged."""

from __future__ import annotations

import functools
from collections.abc import Sequence

import boto3

from taskgate.aws.clients import available
from taskgate.webhooks import secrets_for
from taskgate.webhooks.deriving import key_for


@functools.cache
def master(secret_id: str) -> bytes:
    """The master key; one call in the life of a process."""
    client = boto3.client("secretsmanager")
    try:
        with available():
            return str(client.get_secret_value(SecretId=secret_id)["SecretString"]).encode()
    finally:
        client.close()


def tenant_secrets(secret_id: str, versions: Sequence[int], tenant: str) -> tuple[str, ...]:
    """The tenant's `whsec_` secrets, the newest version first."""
    return secrets_for(master(secret_id), tenant, versions)


def cursor_key(secret_id: str) -> bytes:
    """The key that seals cursors; the master is read with the first page that has a next one."""
    return key_for(master(secret_id), "cursors")
