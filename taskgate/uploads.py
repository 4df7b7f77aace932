"""Uploads: what they are called, where they lie, how long they are kept. Pure.

There is no record of an upload: its key says whose it is, its id says since when, and the object
says the rest. An id that was never given leads nowhere, as does anybody else's.
"""

from __future__ import annotations

import re
from typing import Final

from ulid import ULID

from taskgate.task import Owner

UPLOAD_ID: Final = re.compile(r"upload_[0-7][0-9A-HJKMNP-TV-Z]{25}")
FOLDER: Final = "in"
WHOLE: Final = "$upload"
"""``{"$upload": id}`` in the place of an input: the input is the JSON that was uploaded."""
WHOLE_TYPE: Final = "application/json"
MAX_WHOLE_BYTES: Final = 1024 * 1024
"""Of an uploaded input: it goes to the model's process in one message (docs/decisions/0010)."""
MARGIN_MS: Final = 3_600_000
"""A task must have ended so long before an upload goes: its end may be noticed a little late."""
_DAY_MS: Final = 24 * 3_600_000


def new_upload_id(now: int) -> str:
    """A fresh id, which no one can guess: 80 of its bits are random."""
    return f"upload_{ULID.from_timestamp(now / 1000)}"


def key_of(owner: Owner, upload_id: str) -> str:
    """Where it lies. Neither an owner's name nor an id holds a ``/``, so nothing gets elsewhere."""
    return f"{FOLDER}/{owner.tenant}/{owner.user}/{upload_id}"


def kept_until(upload_id: str, days: int) -> int:
    """Until when it is there at least (epoch ms): the bucket counts from when the bytes came."""
    return ULID.from_str(upload_id.removeprefix("upload_")).milliseconds + days * _DAY_MS


def whole_text(upload_id: str) -> str:
    """What stands on record as the input of a task whose input was uploaded."""
    return f'{{"{WHOLE}":"{upload_id}"}}'


def whole_id(text: str) -> str | None:
    """The upload that an input on record is, or None when it is the input itself."""
    found = _WHOLE_TEXT.fullmatch(text)
    return found[1] if found else None


_WHOLE_TEXT: Final = re.compile(rf'{{"\$upload":"({UPLOAD_ID.pattern})"}}')
