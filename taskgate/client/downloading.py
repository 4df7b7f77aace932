"""Result files to disk, each checked against the sha256 that the task's manifest names."""

from __future__ import annotations

import hashlib
from pathlib import Path, PurePosixPath
from typing import Final

import httpx

from taskgate.client.errors import DownloadCorrupt, Unreachable
from taskgate.client.models import ResultFile
from taskgate.client.transport import TIMEOUT, is_loopback

UNFINISHED: Final = ".part"


def download(file: ResultFile, folder: Path) -> Path:
    """Fetch a file into the folder; under its own name only once its bytes are proven.

    The key of the API is not sent along: the URL is signed, and goes to another server.
    """
    target = folder / safe_name(file.name)
    target.parent.mkdir(parents=True, exist_ok=True)
    unfinished = target.with_name(target.name + UNFINISHED)
    try:
        got = _fetch(file.url, unfinished)
        if file.sha256 and got != file.sha256:
            raise DownloadCorrupt(file.name, file.sha256, got)
        return unfinished.replace(target)
    finally:
        unfinished.unlink(missing_ok=True)


def safe_name(name: str) -> str:
    """The last part of a name: no gateway may choose where on this disk a file goes."""
    last = PurePosixPath(name.replace("\\", "/")).name
    return last if last not in {"", ".", ".."} else "result"


def _fetch(url: str, target: Path) -> str:
    digest = hashlib.sha256()
    try:
        with (
            httpx.Client(timeout=TIMEOUT, trust_env=not is_loopback(url)) as http,
            http.stream("GET", url) as response,
            target.open("wb") as out,
        ):
            response.raise_for_status()
            for block in response.iter_bytes():
                digest.update(block)
                out.write(block)
    except httpx.HTTPStatusError as error:
        # Not the error's own words: they repeat the link, which whoever reads them could follow.
        status = error.response.status_code
        raise Unreachable(
            f"The bucket answered {status} for a file of the result: its bytes are gone, or its link is."
        ) from None
    except httpx.HTTPError as error:
        raise Unreachable(f"The result could not be fetched: {error}") from error
    return digest.hexdigest()
