"""Every number that a deployment may choose, in frozen classes.

``Stage`` is what the stacks are built from; ``Environment`` is what they write into the
environment of every function and worker, and what those read once at start. Both sides use
this one class, so a variable cannot be spelled twice.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import MISSING, dataclass, field, fields, replace
from typing import Any, Final

from taskgate import metrics, variables
from taskgate.capacity import Host, PoolCapacity, Workers
from taskgate.edge import Edge
from taskgate.errors import BadSetting
from taskgate.issuer import UNSET, TrustedIssuer

OFF: Final = "unset"
"""What the environment says of an option that is off."""
PRIORITIES: Final = ("high", "normal", "low")
MOST_UPLOAD_BYTES: Final = 5 * 1024**3
"""S3 takes no more in one form."""
_COLLECTOR: Final = re.compile(r"https?://[A-Za-z0-9.-]+(:[0-9]{1,5})?(/[A-Za-z0-9._~/-]*)?")
"""Neither a secret nor a query in it: it stands in the environment of every room."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Timing:
    """Seconds. The order beat < lease < promised detection is checked on construction."""

    beat: int = 15
    """A running attempt writes its pulse this often."""
    lease: int = 45
    """A pulse older than this is a lost worker; also the lanes' visibility timeout."""
    send_check: int = 30
    """A task not known to be in its lane this long after the write is sent again."""
    stall_grace: int = 60
    """A suspected task waits this long for its worker, its owner or an operator."""
    cancel_grace: int = 30
    """A cancel that no worker acknowledged is enforced after this."""
    sweep_every: int = 60
    """The stale sweep's period; EventBridge allows whole minutes only."""
    stop_timeout: int = 110
    """ECS kills a worker this long after SIGTERM; the worker is gone well before."""

    def __post_init__(self) -> None:
        if not 0 < self.beat * 2 < self.lease:
            raise BadSetting("lease", self.lease, f"more than two beats ({self.beat * 2} s)")
        if not 0 < self.stop_timeout <= 120:
            raise BadSetting("stop_timeout", self.stop_timeout, "1 to 120 s, the ECS maximum")

    @property
    def restart_within(self) -> int:
        """Seconds until a free worker takes over after a worker died: its message comes back."""
        return self.lease + 5

    @property
    def detected_within(self) -> int:
        """Seconds until the clock notices a dead worker even if its message is gone."""
        return self.lease + self.sweep_every + 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Stage:
    """One deployment: its name, what survives it, and its sizes. Built by name with `stage`."""

    name: str
    cell: str = "c0"
    timing: Timing = field(default_factory=Timing)
    clock_shards: int = 16
    retain_data: bool = True
    result_days: int = 30
    """Results, and inputs after their task's deadline, are gone after this."""
    record_days: int = 90
    """An ended task is told of in full for this long; after it, 410 with its end, for ever."""
    salvage_hours: int = 24
    """What a soft-cancelled run brought waits so long for its owner's next identical submit."""
    upload_days: int = 7
    """Uploads are gone after this; no task is accepted that may still wait for one then."""
    upload_bytes: int = MOST_UPLOAD_BYTES
    """No upload is larger, whatever a task type or a plan allows."""
    dead_letter_days: int = 90
    """Kept dead letters are evidence: they outlast the tasks' own retention in the queues."""
    log_days: int = 30
    key_cache: int = 60
    """Seconds that the HTTP API remembers an API key; a revoked key works on for so long."""
    requests_per_second: int = 1000
    requests_burst: int = 2000
    """The HTTP API answers 429 above these; they guard the account, not one caller's share."""
    lane_limit: int = 100_000
    """A lane in which more wait takes no new tasks: whatever came last would wait for days."""
    webhook_versions: tuple[int, ...] = (1,)
    """Versions of the callback secrets that sign, the newest first. To rotate: (2, 1), then (2,)."""
    trusted_issuer: TrustedIssuer | None = None
    """Whose JWTs are taken beside API keys, on every route."""
    event_bus: bool = False
    """Tell an EventBridge bus of every transition, for other systems. One event costs $1 a million."""
    otlp_endpoint: str | None = None
    """Base URL of an OTLP/HTTP collector that is told the spans of tasks; None tells nobody."""
    edge: Edge = field(default_factory=Edge)
    """What stands in front of the API: by default nothing but the HTTP API itself."""
    workers: Workers = field(default_factory=Workers)
    """What the workers run on; a local stage starts them as processes instead."""
    emulator: bool = False

    def __post_init__(self) -> None:
        if not 1 <= self.result_days <= self.record_days:
            raise BadSetting("result_days", self.result_days, f"1 to {self.record_days}")
        if not 1 <= self.salvage_hours <= min(168, 24 * self.result_days):
            raise BadSetting("salvage_hours", self.salvage_hours, "1 to 168, within result_days")
        if not 2 <= self.upload_days <= 365:
            # A task lives for a day, by default.
            raise BadSetting("upload_days", self.upload_days, "2 to 365")
        if not 1 <= self.upload_bytes <= MOST_UPLOAD_BYTES:
            raise BadSetting("upload_bytes", self.upload_bytes, f"1 to {MOST_UPLOAD_BYTES}")
        if not 1 <= self.clock_shards <= 100:
            raise BadSetting("clock_shards", self.clock_shards, "1 to 100")
        if self.otlp_endpoint is not None and not _COLLECTOR.fullmatch(self.otlp_endpoint):
            raise BadSetting("otlp_endpoint", self.otlp_endpoint, "http(s)://host[:port][/path]")
        if self.emulator:
            self._check_emulated()
        if not (self.cell.isascii() and self.cell.isalnum() and self.cell.islower()):
            raise BadSetting("cell", self.cell, "lower-case letters and digits")
        if not (self.name.isascii() and self.name.isalnum() and self.name.islower()):
            raise BadSetting("stage", self.name, "lower-case letters and digits")

    def _check_emulated(self) -> None:
        if self.edge.domain:
            raise BadSetting("edge.domain", self.edge.domain.name, "none on the emulator")
        if self.workers.hosted:
            raise BadSetting("workers", sorted(self.workers.hosted), "none on the emulator")

    @property
    def event_bus_name(self) -> str:
        """The bus that is told, when there is one."""
        return f"{self.prefix}-events"

    @property
    def labels(self) -> Mapping[str, str]:
        """What its metrics are told from another deployment's by."""
        return metrics.labels(self.name, self.cell)

    @property
    def prefix(self) -> str:
        """Starts every physical name, so that deployments in one account do not clash."""
        return _prefix(self.name, self.cell)


def _prefix(stage: str, cell: str) -> str:
    return f"taskgate-{stage}-{cell}"


# One L4 or A10G each. Four vCPUs and 16 GiB are what the smallest instances with one have.
_GPU: Final = PoolCapacity(
    host=Host.MANAGED,
    gpus=1,
    cpu=3 * 1024,
    memory=13 * 1024,
    accelerators=("l4", "a10g"),
    instance_types=("g6.xlarge", "g5.xlarge", "g6.2xlarge", "g5.2xlarge"),
)
_CPU: Final = PoolCapacity(host=Host.FARGATE, cpu=1024, memory=4096)

STAGES: Final[Mapping[str, Stage]] = {
    # The local stage beats faster, so that a person who kills a worker sees the story end.
    "local": Stage(
        name="local",
        timing=Timing(beat=3, lease=10, send_check=10, stall_grace=15, cancel_grace=10),
        retain_data=False,
        log_days=1,
        emulator=True,
    ),
    "dev": Stage(
        name="dev",
        retain_data=False,
        log_days=7,
        workers=Workers(
            pools={
                "gpu": replace(_GPU, most=1, spot=True),
                "cpu": replace(_CPU, most=2, spot=True),
            }
        ),
    ),
    "staging": Stage(
        name="staging", workers=Workers(pools={"gpu": replace(_GPU, most=2), "cpu": _CPU})
    ),
    "prod": Stage(
        name="prod",
        log_days=90,
        workers=Workers(
            pools={"gpu": replace(_GPU, most=8, spare=1), "cpu": replace(_CPU, most=8)}
        ),
    ),
}


def stage(name: str) -> Stage:
    """The settings of a stage by its name; an unknown name lists the known ones."""
    if name not in STAGES:
        raise BadSetting("STAGE", name, "one of " + ", ".join(STAGES))
    return STAGES[name]


@dataclass(frozen=True, slots=True)
class Retention:
    """Days that an ended task is told of: its result's bytes, then its record, then its end alone."""

    results: int = 30
    records: int = 90


@dataclass(frozen=True, slots=True, kw_only=True)
class Environment:
    """What the stack tells a function or a worker, one variable a field, ``TASKGATE_<FIELD>``."""

    stage: str
    tasks_table: str
    ephemeral_table: str
    results_bucket: str
    lanes: Mapping[str, str]
    """Queue URL of each lane, by lane name ``<pool>-<priority>``."""
    clock_shards: int
    beat: int
    lease: int
    send_check: int
    stall_grace: int
    cancel_grace: int
    cell: str = "c0"
    errands: str = "unset"
    """URL of the queue of tasks that owe something."""
    webhook_master: str = "unset"
    """Id of the secret that every tenant's callback secret is derived from."""
    webhook_versions: tuple[int, ...] = (1,)
    """Versions that sign, the newest first: two while receivers move to a new secret."""

    trusted_issuer: str = UNSET
    """Whose JWTs the authorizer takes, as `TrustedIssuer` writes itself."""
    event_bus: str = "unset"
    """Name of the bus that is told of every transition."""
    otlp_endpoint: str = OFF
    """Base URL of the collector that is told the spans of tasks."""
    result_days: int = 30
    record_days: int = 90
    lane_limit: int = 100_000
    salvage_seconds: int = 24 * 3600
    upload_days: int = 7
    upload_bytes: int = MOST_UPLOAD_BYTES

    @property
    def labels(self) -> Mapping[str, str]:
        """What this deployment's metrics are told from another's by."""
        return metrics.labels(self.stage, self.cell)

    @property
    def prefix(self) -> str:
        """As the `Stage`'s: what the deployment's physical names start with."""
        return _prefix(self.stage, self.cell)

    @property
    def retention(self) -> Retention:
        """How long ended tasks are told of."""
        return Retention(self.result_days, self.record_days)

    def as_variables(self) -> dict[str, str]:
        """The environment variables to set: the stack's half of the contract."""
        return {
            variables.name_of(f.name): variables.write(getattr(self, f.name)) for f in fields(self)
        }

    @classmethod
    def read(cls, environ: Mapping[str, str]) -> Environment:
        """Parse the variables; the first that is missing or wrong is named with its bound.

        One that has a default may be missing: a stack of an earlier version does not write it.
        """
        environ = {**_defaults(), **environ}
        return cls(**{f.name: _READERS[f.type](environ, f.name) for f in fields(cls)})


_READERS: Final[Mapping[Any, Callable[[Mapping[str, str], str], Any]]] = {
    "str": variables.text,
    "int": variables.whole,
    "tuple[int, ...]": variables.wholes,
    "Mapping[str, str]": variables.mapping,
}
"""A variable is read by the type of its field, as it stands in the class above."""
_NEEDED: Final = frozenset({"errands", "webhook_master"})


def _defaults() -> dict[str, str]:
    """Of all that may be missing. Nothing can be guessed of a queue or a secret that is needed."""
    known = {f.name: f.default for f in fields(Environment) if f.default is not MISSING}
    return {
        variables.name_of(k): variables.write(default)
        for k, default in known.items()
        if k not in _NEEDED
    }
