"""Builds the code of all functions into one folder, without Docker.

The folder's name carries a hash of all that goes in: the locked requirements, our sources, the
target and this recipe. A folder that is there is therefore complete and current, and never
changes again; equal inputs give an equal asset hash on every machine.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from cdk_app import interpreters, trim
from cdk_app.target import Target
from cdk_app.uv import UV
from taskgate.settings import Stage

ROOT: Final = Path(__file__).resolve().parent.parent
BUILD: Final = ROOT / "build" / "bundle"
# What the functions never import: the kits for tests, the command, the local stack, the SDK.
LEFT_OUT: Final = frozenset({"testing", "cli", "client", "local"})


@dataclass(frozen=True, slots=True)
class Bundle:
    """A finished folder and the hash of what went into it."""

    folder: Path
    hash: str


def build(target: Target, extras: Sequence[str] = ()) -> Bundle:
    """The bundle for this target, built only when an input changed; with the stage's `extras`."""
    requirements = _requirements(extras)
    digest = _digest(target, requirements)
    folder = BUILD / f"{target.name}-{digest[:16]}"
    with _only_one(target):
        if not folder.exists():
            _build_into(folder, target, requirements)
    return Bundle(folder, digest)


def fingerprint(target: Target, extras: Sequence[str] = ()) -> str:
    """The hash of all inputs of this target's bundle."""
    return _digest(target, _requirements(extras))


def sources() -> list[Path]:
    """Our own files that the functions need, in a fixed order."""
    return sorted(
        path
        for package in ("taskgate", "functions")
        for path in (ROOT / package).rglob("*")
        if path.is_file() and _is_needed(path.relative_to(ROOT))
    )


def _is_needed(path: Path) -> bool:
    return "__pycache__" not in path.parts and not (
        path.parts[0] == "taskgate" and path.parts[1] in LEFT_OUT
    )


def extras_of(stage: Stage) -> tuple[str, ...]:
    """What the functions of this stage need beside what all of them do."""
    return ("otlp",) if stage.otlp_endpoint else ()


def _requirements(extras: Sequence[str] = ()) -> str:
    """The locked requirements of the functions, each with its hashes."""
    command = [UV, "export", "--quiet", "--frozen", "--no-dev", "--extra", "functions"]
    command += [word for extra in extras for word in ("--extra", extra)]
    # Plain text whoever calls: the CDK CLI asks its children for colours, comments included.
    command += ["--no-emit-project", "--no-header", "--no-annotate", "--color", "never"]
    return subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout


def _digest(target: Target, requirements: str) -> str:
    digest = hashlib.sha256(f"{target}\n{requirements}".encode())
    for path in (*sorted(Path(__file__).parent.glob("*.py")), *sources()):
        digest.update(f"\n{path.relative_to(ROOT).as_posix()}\n".encode())
        digest.update(path.read_bytes())
    return digest.hexdigest()


@contextmanager
def _only_one(target: Target) -> Iterator[None]:
    """Holds off a second build of the same target, as when tests and a dev stack start at once."""
    BUILD.mkdir(parents=True, exist_ok=True)
    with (BUILD / f"{target.name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _build_into(folder: Path, target: Target, requirements: str) -> None:
    unfinished = folder.with_name(folder.name + ".unfinished")
    shutil.rmtree(unfinished, ignore_errors=True)
    _install(unfinished, target, requirements)
    for path in sources():
        copy = unfinished / path.relative_to(ROOT)
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, copy)
    trim.trim(unfinished)
    _compile(unfinished, interpreters.find(target.python))
    unfinished.rename(folder)
    _forget_older(folder, target)


def _install(folder: Path, target: Target, requirements: str) -> None:
    folder.mkdir(parents=True)
    locked = folder / "requirements.txt"
    locked.write_text(requirements)
    platform = ("--python-platform", target.platform) if target.platform else ()
    command = [
        UV,
        "pip",
        "install",
        "--quiet",
        "--target",
        str(folder),
        "--requirements",
        str(locked),
    ]
    command += ["--python-version", target.python, *platform, "--only-binary", ":all:"]
    command += ["--require-hashes", "--no-deps", "--link-mode", "copy"]
    subprocess.run(command, cwd=ROOT, check=True)


def _compile(folder: Path, python: str) -> None:
    # Unchecked-hash: valid whatever the files' times, which the zip and Lambda do not keep.
    command = [python, "-m", "compileall", "-q", "-j", "0", "--invalidation-mode", "unchecked-hash"]
    environment = {**os.environ, "PYTHONHASHSEED": "0"}
    subprocess.run(
        [*command, "-s", str(folder), "-p", "/var/task", str(folder)], check=True, env=environment
    )


def _forget_older(current: Path, target: Target) -> None:
    """Keeps the newest three bundles: a running deploy may still be reading the last one."""
    kept = sorted(BUILD.glob(f"{target.name}-*"), key=lambda p: p.stat().st_mtime, reverse=True)
    for old in kept[3:]:
        if old != current:
            shutil.rmtree(old, ignore_errors=True)
