"""Takes out of the bundle what no function uses; botocore alone ships 28 MB of service models."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Final

SERVICES: Final = frozenset({"dynamodb", "events", "lambda", "sqs", "s3", "secretsmanager", "sts"})


def trim(folder: Path) -> None:
    """Removes unused service models, scripts, type stubs and stale compiled files."""
    for library in ("botocore", "boto3"):
        _keep_services(folder / library / "data")
    shutil.rmtree(folder / "bin", ignore_errors=True)
    for path in sorted(folder.rglob("*")):
        if path.name == "__pycache__":
            shutil.rmtree(path)
        elif path.suffix in {".pyi", ".lock"} or path.name == "requirements.txt":
            path.unlink()


def _keep_services(data: Path) -> None:
    for service in data.iterdir():
        if service.is_dir() and service.name not in SERVICES:
            shutil.rmtree(service)
