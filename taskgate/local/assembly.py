"""The synthesised stacks, kept while nothing that went into them changed."""

from __future__ import annotations

import fcntl
import shutil
from pathlib import Path
from typing import Final

from taskgate.local.cdk import ROOT, cdk, fingerprint

ASSEMBLIES: Final = ROOT / "build" / "assembly"


def synthesise(stage_name: str) -> Path:
    """The folder of the stage's cloud assembly; made only when an input changed."""
    folder = ASSEMBLIES / f"{stage_name}-{fingerprint(stage_name)[:16]}"
    ASSEMBLIES.mkdir(parents=True, exist_ok=True)
    with (ASSEMBLIES / f"{stage_name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not folder.exists():
            _synthesise_into(folder, stage_name)
    return folder


def _synthesise_into(folder: Path, stage_name: str) -> None:
    unfinished = folder.with_name(folder.name + ".unfinished")
    shutil.rmtree(unfinished, ignore_errors=True)
    cdk(
        ["synth", "--quiet", "--context", f"stage={stage_name}", "--output", str(unfinished)],
        log=ASSEMBLIES / f"{stage_name}.log",
        variables={},
    )
    unfinished.rename(folder)
    _forget_older(stage_name)


def _forget_older(stage_name: str) -> None:
    """Keeps the newest three: another stack may be deploying from an older one."""
    folders = [path for path in ASSEMBLIES.glob(f"{stage_name}-*") if path.is_dir()]
    folders.sort(key=lambda path: path.stat().st_mtime, reverse=True)
    for old in folders[3:]:
        shutil.rmtree(old, ignore_errors=True)
