"""OpenAPI 3.1."""

from typing import Any


def document() -> dict[str, Any]:
    return {"openapi": "3.1.0"}
