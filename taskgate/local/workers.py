"""Worker processes of the local stack: the real ``gpu_worker``, one process a pool."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from taskgate.local.process import Child, plain_variables
from taskgate.settings import Environment


def start_worker(
    pool: str,
    *,
    environment: Environment,
    client_variables: Mapping[str, str],
    log: Path,
    extra: Mapping[str, str] | None = None,
) -> Child:
    """Start one worker of a pool, with the same variables as on AWS plus the emulator's."""
    variables = {
        **plain_variables(),
        **client_variables,
        **environment.as_variables(),
        "TASKGATE_POOL": pool,
        **(extra or {}),
    }
    return Child("gpu_worker", variables=variables, log=log)
