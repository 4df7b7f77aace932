"""The demo's last part: the task that follows the picture, and the callbacks of both."""

from __future__ import annotations

import struct
import time
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import Final

from taskgate.cli.demo_showing import PATIENCE, RESULTS, title, watched, where
from taskgate.cli.listening import Heard
from taskgate.cli.printing import say
from taskgate.cli.proof import Proof
from taskgate.client import NotFound, TaskHandle

LOOK_EVERY: Final = 0.2


def finished(parent: TaskHandle, proof: Proof) -> TaskHandle:
    """Watch the task that follows to its end; its picture is the parent's, twice as large."""
    title("What follows it: finish_image takes the picture, enlarges and signs it")
    (child,) = parent.children
    _until_on_record(child)
    if watched(child, proof).succeeded:
        folder = RESULTS / child.id
        (path,) = child.download(folder)
        where(child.result(), folder)
        (before,) = parent.download(RESULTS / parent.id)
        proof.claim(
            "it is the first one's picture, twice as wide and high",
            _size(path) == tuple(2 * side for side in _size(before)),
        )
    chain = parent.get().chain
    proof.claim("the chain as a whole succeeded", chain == "succeeded")
    return child


def told_of(handles: Sequence[TaskHandle], heard: Sequence[Heard], proof: Proof) -> None:
    """Each task's end was posted to this machine, signed, and is on record as delivered."""
    title("The callbacks")
    for handle in handles:
        found = _heard_of(handle.id, heard)
        if found is None or found.event is None:
            proof.claim(f"the end of {handle.id} was told, and its signature holds", true=False)
            continue
        ended = datetime.fromisoformat(found.event["data"]["ended_at"])
        seconds = found.at - ended.timestamp()
        say((f"  {found.event['type']}  {handle.id}", "bold"))
        proof.claim(
            f"delivered {seconds:.2f} s after its end, and its signature holds", seconds < PATIENCE
        )
        proof.claim("the task says so too", _on_record(handle))
    proof.claim("nothing came that was not signed", all(h.event for h in heard))


def _until_on_record(child: TaskHandle) -> None:
    give_up = time.monotonic() + PATIENCE
    while time.monotonic() < give_up:
        try:
            child.status()
        except NotFound:
            time.sleep(LOOK_EVERY)
        else:
            return


def _heard_of(task_id: str, heard: Sequence[Heard]) -> Heard | None:
    give_up = time.monotonic() + PATIENCE
    while time.monotonic() < give_up:
        for one in list(heard):
            if one.event and one.event["data"]["id"] == task_id:
                return one
        time.sleep(LOOK_EVERY)
    return None


def _on_record(handle: TaskHandle) -> bool:
    """The receiver has it a moment before the record says so."""
    give_up = time.monotonic() + 10
    while not handle.callback().delivered:
        if time.monotonic() > give_up:
            return False
        time.sleep(LOOK_EVERY)
    return True


def _size(path: Path) -> tuple[int, ...]:
    """Width and height of a PNG, from its header."""
    return struct.unpack(">II", path.read_bytes()[16:24])
