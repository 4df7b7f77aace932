"""What the workers of a stage run on: one choice for each pool of the catalog, in frozen classes."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final

from taskgate.errors import BadSetting

FARGATE_SIZES: Final[Mapping[int, range]] = {
    # CPU units to MiB: what Fargate can make, as far as a worker would ask for it.
    1024: range(2048, 8192 + 1, 1024),
    2048: range(4096, 16384 + 1, 1024),
    4096: range(8192, 30720 + 1, 1024),
    8192: range(16384, 61440 + 1, 4096),
}
_IMAGE: Final = re.compile(
    r"([a-z0-9][a-z0-9._/-]{1,255})(?::([\w][\w.-]{0,127})|@(sha256:[0-9a-f]{64}))"
)


class Host(StrEnum):
    """What a pool's workers run on."""

    MANAGED = "managed"
    """ECS Managed Instances: AWS chooses, patches and replaces the GPU instances."""
    EC2 = "ec2"
    """An Auto Scaling group of our own on the ECS-optimised GPU image."""
    FARGATE = "fargate"
    """No instances at all, and no GPU."""
    ELSEWHERE = "elsewhere"
    """Not this deployment's to run: workers of yours poll the pool's lanes from where they are."""


class Egress(StrEnum):
    """How workers, none of which has a public address, reach AWS."""

    NAT = "nat"
    """And the rest of the internet. About $33 a month a gateway, and $0.045 a GB that passes it."""
    ENDPOINTS = "endpoints"
    """And nothing else. About $7 a month for each of seven services and zone, and $0.01 a GB."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PoolCapacity:
    """The workers of one pool. A worker is one ECS task, and runs one task of ours at a time."""

    host: Host = Host.ELSEWHERE
    spot: bool = False
    """Cheaper, and taken back at two minutes' notice: a run goes on elsewhere from its checkpoint."""
    gpus: int = 0
    """Whole GPUs for a worker; ECS gives out no parts of one."""
    cpu: int = 1024
    """CPU units: 1024 are one vCPU."""
    memory: int = 4096
    """MiB. On EC2 leave the instance a tenth of its own."""
    least: int = 0
    most: int = 4
    """Bounds of the number of workers. `most` also bounds the bill."""
    backlog_each: float = 2.0
    """Unfinished tasks, queued and processing, that one worker should have: the target."""
    spare: int = 0
    """Workers more than that, as long as there is anything to do."""
    idle_minutes: int = 15
    """With nothing to do for so long, the pool goes back to `least`."""
    instance_types: tuple[str, ...] = ()
    """For `ec2`, in order of preference; several, since a zone runs out of one of them."""
    accelerators: tuple[str, ...] = ()
    """For `managed`: any instance with one of these, by the names that EC2 has for them."""

    def __post_init__(self) -> None:
        self._check_bounds()
        match self.host:
            case Host.FARGATE:
                self._check_fargate()
            case Host.EC2 if not self.instance_types:
                raise BadSetting("instance_types", "", "at least one, for a pool on ec2")
            case Host.MANAGED if self.gpus and not self.accelerators:
                raise BadSetting("accelerators", "", "at least one, for a managed pool with GPUs")

    def _check_bounds(self) -> None:
        if not 0 <= self.least <= self.most <= 1000:
            raise BadSetting("most", self.most, f"from least ({self.least}) to 1000 workers")
        if not 0 <= self.spare < max(1, self.most):
            raise BadSetting("spare", self.spare, f"0 to less than most ({self.most})")
        if not 0.1 <= self.backlog_each <= 1000:
            raise BadSetting("backlog_each", self.backlog_each, "0.1 to 1000 tasks a worker")
        if not 1 <= self.idle_minutes <= 60:
            raise BadSetting("idle_minutes", self.idle_minutes, "1 to 60")
        if not 0 <= self.gpus <= 16:
            raise BadSetting("gpus", self.gpus, "0 to 16")

    def _check_fargate(self) -> None:
        if self.gpus:
            raise BadSetting("gpus", self.gpus, "0 on fargate, which has none")
        if self.memory not in FARGATE_SIZES.get(self.cpu, ()):
            known = ", ".join(f"{c}: {r[0]} to {r[-1]}" for c, r in FARGATE_SIZES.items())
            raise BadSetting("cpu and memory", (self.cpu, self.memory), f"of {known} MiB")


@dataclass(frozen=True, slots=True, kw_only=True)
class Workers:
    """The workers of a stage."""

    pools: Mapping[str, PoolCapacity] = field(default_factory=dict, hash=False)
    """By pool. A pool that is not named here has its workers elsewhere."""
    image: str = "taskgate-worker:0.1.0"
    """In the account's own ECR: ``name:tag``, or better ``name@sha256:…``, which never moves."""
    egress: Egress = Egress.NAT
    zones: int = 2
    """Availability zones. More have more GPUs to give; each costs endpoints."""
    flow_log_days: int = 7

    def __post_init__(self) -> None:
        if _IMAGE.fullmatch(self.image) is None:
            raise BadSetting("image", self.image, "name:tag or name@sha256:<64 hex digits>")
        if not 2 <= self.zones <= 3:
            raise BadSetting("zones", self.zones, "2 or 3")

    @property
    def repository(self) -> str:
        """The image's repository."""
        return re.split("[:@]", self.image, maxsplit=1)[0]

    @property
    def version(self) -> str:
        """Its tag or digest."""
        return self.image[len(self.repository) + 1 :]

    @property
    def hosted(self) -> Mapping[str, PoolCapacity]:
        """The pools whose workers this deployment runs."""
        return {name: pool for name, pool in self.pools.items() if pool.host is not Host.ELSEWHERE}
