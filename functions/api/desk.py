"""The desk that every route is served at: the room, the catalog and what is remembered."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from functions.api.remembered import EndedViews
from functions.rooms import Room
from taskgate.catalog import CATALOG, Catalog
from taskgate.gateway.door.admitting import LaneDepths
from taskgate.gateway.switching import KnownSwitches
from taskgate.gateway.views.cursors import Cursors
from taskgate.ports import Ports
from taskgate.settings import Retention
from taskgate.spans import NOBODY, Spans


@dataclass(frozen=True, slots=True, kw_only=True)
class Desk:
    """Lives as long as the process."""

    room: Room
    secrets: Callable[[str], Sequence[str]]
    """The secrets that sign a tenant's callbacks, the newest first."""
    cursors: Cursors
    catalog: Catalog = CATALOG
    ended: EndedViews = field(default_factory=EndedViews)
    depths: LaneDepths = field(default_factory=LaneDepths)
    switches: KnownSwitches = field(default_factory=KnownSwitches)
    spans: Spans = NOBODY
    sleep: Callable[[float], None] = time.sleep

    @property
    def retention(self) -> Retention:
        """How long ended tasks are told of."""
        return self.room.environment.retention

    @property
    def ports(self) -> Ports:
        return self.room.ports
