"""What the rooms share: the environment, read once at cold start, and the ports built from it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from taskgate.aws.ports import build
from taskgate.events import measure
from taskgate.ports import Ports
from taskgate.settings import Environment


@dataclass(frozen=True, slots=True, kw_only=True)
class Room:
    """Everything that a handler works with. Tests furnish one with in-memory ports."""

    environment: Environment
    ports: Ports


def open_room(environ: Mapping[str, str]) -> Room:
    """The room of this process. A wrong variable fails here, at cold start, by its name."""
    environment = Environment.read(environ)
    measure(environment.labels)
    return Room(environment=environment, ports=build(environment))
