"""The synthesised stacks, kept while nothing that went into them changed."""

from __future__ import annotations

import fcntl
import hashlib
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from taskgate.local.cdk import ROOT, cdk, fingerprint

ASSEMBLIES: Final = ROOT / "build" / "assembly"


def synthesise(
    stage_name: str,
    *,
    event_bus: bool = False,
    origins: Sequence[str] = (),
    otlp: str | None = None,
) -> Path:
    """The folder of the stage's cloud assembly; made only when an input changed."""
    label = f"{stage_name}.bus" if event_bus else stage_name
    context = ["--context", f"stage={stage_name}", "--context", f"event-bus={event_bus}".lower()]
    if origins:
        label += f".{_short(repr(origins))}"
        context += ["--context", f"origins={','.join(origins)}"]
    if otlp:
        label += ".otlp"
        context += ["--context", f"otlp={otlp}"]
        # A collector of a test has another port each time: its assemblies are forgotten as older ones.
        of = f"{fingerprint(stage_name, 'otlp')[:16]}-{_short(otlp)}"
    else:
        of = fingerprint(stage_name)[:16]
    folder = ASSEMBLIES / f"{label}-{of}"
    ASSEMBLIES.mkdir(parents=True, exist_ok=True)
    with (ASSEMBLIES / f"{label}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not folder.exists():
            _synthesise_into(folder, label, context)
    return folder


def _short(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:8]


def _synthesise_into(folder: Path, label: str, context: Sequence[str]) -> None:
    unfinished = folder.with_name(folder.name + ".unfinished")
    shutil.rmtree(unfinished, ignore_errors=True)
    cdk(
        ["synth", "--quiet", *context, "--output", str(unfinished)],
        log=ASSEMBLIES / f"{label}.log",
        variables={},
    )
    unfinished.rename(folder)
    _forget_older(label)


def _forget_older(label: str) -> None:
    """Keeps the newest three: another stack may be deploying from an older one."""
    folders = [path for path in ASSEMBLIES.glob(f"{label}-*") if path.is_dir()]
    folders.sort(key=lambda path: path.stat().st_mtime, reverse=True)
    for old in folders[3:]:
        shutil.rmtree(old, ignore_errors=True)
