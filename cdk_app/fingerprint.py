"""Prints the hash of all that a stage's assembly is made from: ``-m cdk_app.fingerprint <stage> [<extra>…]``.

Extras are those that its functions need beside their own, such as ``otlp``.

Equal hashes mean that an assembly made before can be deployed again without a new synth.
"""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Sequence

from cdk_app import bundle, target
from taskgate.settings import stage

# Beside the bundle's own inputs, which take in all of cdk_app and taskgate.
FILES = ("cdk.json", "package-lock.json")


def fingerprint(stage_name: str, extras: Sequence[str] = ()) -> str:
    """The hash for one stage."""
    chosen = stage(stage_name)
    code = bundle.fingerprint(target.of(chosen), extras or bundle.extras_of(chosen))
    digest = hashlib.sha256(code.encode())
    for name in FILES:
        digest.update((bundle.ROOT / name).read_bytes())
    return digest.hexdigest()


if __name__ == "__main__":
    print(fingerprint(sys.argv[1], sys.argv[2:]))  # noqa: T201 - the answer itself
