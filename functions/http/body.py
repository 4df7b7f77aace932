"""The base of every body: strict, and each wrong field is named."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self

from pydantic import BaseModel, ConfigDict, ValidationError

from taskgate.errors import InvalidRequest
from taskgate.misfits import misfits


class Body(BaseModel):
    """Base of every body."""

    model_config = ConfigDict(strict=True, extra="forbid", frozen=True)

    @classmethod
    def of(cls, body: Mapping[str, Any]) -> Self:
        """The body as this model, or `InvalidRequest` naming each field that is wrong."""
        try:
            return cls.model_validate(body)
        except ValidationError as error:
            raise InvalidRequest(fields=misfits(error, cls)) from None
