"""The bodies of switches, as strict models."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import ConfigDict, Field

from functions.admin.bodies import Instant
from functions.admin.reasons import SwitchReason
from functions.http.body import Body
from functions.http.times import moment
from taskgate.switches import Kind, Switch


class _Switched(Body):
    """What names a switch."""

    kind: Annotated[Literal["lane", "type", "intake"], Field(description="What is meant.")]
    name: Annotated[
        str, Field(max_length=64, description="Of the lane or the type; the intake has none.")
    ] = ""


class PauseSwitchBody(_Switched):
    """What `POST /v1/admin/switches/pause` takes."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [{"kind": "lane", "name": "gpu-low", "reason": "the driver is changed"}]
        }
    )

    reason: Annotated[
        SwitchReason, Field(min_length=1, description="Kept, and told to whoever asks.")
    ]
    until: Annotated[
        Instant | None, Field(description="It ends by itself then, at most 30 days ahead.")
    ] = None
    refuse: Annotated[bool, Field(description="Of a type: refuse its submits, too.")] = False

    @property
    def switch(self) -> Switch:
        """The switch as it is wanted."""
        until = None if self.until is None else moment(self.until)
        return Switch(kind=Kind(self.kind), name=self.name, until=until, refuse=self.refuse)


class ResumeSwitchBody(_Switched):
    """What `POST /v1/admin/switches/resume` takes."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"kind": "lane", "name": "gpu-low"}]})

    reason: Annotated[SwitchReason, Field(description="Kept with the act.")] = ""

    @property
    def switch(self) -> Switch:
        return Switch(kind=Kind(self.kind), name=self.name)
