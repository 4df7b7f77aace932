"""What one worker process may be told, beside the deployment's `Environment`."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from gpu_worker.health import VARIABLE as HEALTH_FILE
from gpu_worker.spot import METADATA
from taskgate.errors import BadSetting


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerSettings:
    """Read once at start. Times are seconds."""

    pool: str
    """Which lanes are polled: ``<pool>-high``, ``-normal``, ``-low``."""
    drain: float = 100
    """How long a stop signal lets the present run go on before it is handed back."""
    watch: int = 1
    """How long an idle worker listens at each lane in turn (see `gpu_worker.lanes`)."""
    preload: bool = True
    """Set up every runner of the pool before the first claim; else each at its first task."""
    require_gpu: bool = False
    """Claim nothing unless ``nvidia-smi`` sees a device."""
    spot: bool = False
    """Poll the instance's metadata for the Spot notice."""
    metadata: str = METADATA
    """Where the instance's metadata is."""
    agent: str | None = None
    """The ECS agent, which is told while a task is held."""
    scratch: Path = field(default_factory=lambda: Path(tempfile.gettempdir()))
    """Where the files of attempts lie while they are made."""
    health: Path | None = None
    """The file by which the container's health check tells that this worker is ready and moves."""
    lend_credentials: bool = False
    """Runners call AWS with the worker's own rights."""
    kill_grace: float = 5
    """How long a run that was told to stop may take before the child is killed."""
    silent_limit: float = 180
    """The process ends itself when a poll or a claim has not come back for so long."""

    @classmethod
    def read(cls, environ: Mapping[str, str]) -> WorkerSettings:
        """From ``TASKGATE_POOL``, ``_DRAIN``, ``_WATCH``, ``_PRELOAD``, ``_REQUIRE_GPU``, ``_SPOT``,
        ``_SCRATCH``, ``_HEALTH_FILE``, ``_LEND_CREDENTIALS``, and what AWS itself sets.
        """
        return cls(
            pool=_pool(environ.get("TASKGATE_POOL", "")),
            drain=_whole(environ, "TASKGATE_DRAIN", 100, most=110),
            watch=_whole(environ, "TASKGATE_WATCH", 1, least=1, most=20),
            preload=_flag(environ, "TASKGATE_PRELOAD", "1"),
            require_gpu=_flag(environ, "TASKGATE_REQUIRE_GPU", "0"),
            spot=_flag(environ, "TASKGATE_SPOT", "0"),
            lend_credentials=_flag(environ, "TASKGATE_LEND_CREDENTIALS", "0"),
            metadata=environ.get("AWS_EC2_METADATA_SERVICE_ENDPOINT") or METADATA,
            agent=environ.get("ECS_AGENT_URI") or None,
            scratch=_folder(environ.get("TASKGATE_SCRATCH") or tempfile.gettempdir()),
            health=_file(environ.get(HEALTH_FILE)),
        )


def _pool(value: str) -> str:
    if not value:
        raise BadSetting("TASKGATE_POOL", value, "the name of a pool in the catalog")
    return value


def _folder(value: str) -> Path:
    if not Path(value).is_dir():
        raise BadSetting("TASKGATE_SCRATCH", value, "a folder that exists")
    return Path(value)


def _file(value: str | None) -> Path | None:
    if value and not Path(value).parent.is_dir():
        raise BadSetting(HEALTH_FILE, value, "a file in a folder that exists")
    return Path(value) if value else None


def _whole(
    environ: Mapping[str, str], name: str, default: int, *, least: int = 0, most: int
) -> int:
    value = environ.get(name) or str(default)
    if not (value.isascii() and value.isdigit() and least <= int(value) <= most):
        raise BadSetting(name, value, f"a whole number of seconds, {least} to {most}")
    return int(value)


def _flag(environ: Mapping[str, str], name: str, default: str) -> bool:
    value = environ.get(name) or default
    if value not in ("0", "1"):
        raise BadSetting(name, value, "0 or 1")
    return value == "1"
