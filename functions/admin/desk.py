"""The desk that every route of this room is served at."""

from __future__ import annotations

from dataclasses import dataclass

from functions.rooms import Room
from taskgate.ports import Ports


@dataclass(frozen=True, slots=True, kw_only=True)
class Desk:
    """Lives as long as the process."""

    room: Room

    @property
    def ports(self) -> Ports:
        return self.room.ports
