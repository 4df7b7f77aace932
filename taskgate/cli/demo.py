"""`taskgate demo`: a document, a picture and what follows it through the whole stack, with proof."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Final

import typer

from taskgate.cli.connection import Connection, LocalNote
from taskgate.cli.demo_chain import finished, told_of
from taskgate.cli.demo_showing import RESULTS, title, watched, where
from taskgate.cli.exits import CommandError, Exit
from taskgate.cli.listening import Heard, receiving
from taskgate.cli.local import local_gateway, running_note
from taskgate.cli.printing import aside, say, size_of
from taskgate.cli.proof import Proof
from taskgate.cli.search import VectorIndex
from taskgate.client import FollowUp, Taskgate, TaskHandle

DOCUMENT: Final = Path("examples") / "handbook.pdf"
QUESTIONS: Final = (
    ("What happens when a worker dies in the middle of a run?", "the beat stops"),
    ("How do I avoid paying twice for the same request?", "idempotency key"),
    ("My PDF is broken. Will the task be tried again?", "invalid_input"),
)
"""A question, and words of the passage that answers it."""
CHUNK: Final = {"chunk_chars": 400, "overlap_chars": 60}
PICTURE: Final = {
    "prompt": "a lighthouse at dusk, calm sea",
    "seed": 7,
    "steps": 20,
    "step_ms": 250,
}
FINISH: Final = {"image": {"$result": "image.png"}, "factor": 2, "watermark": "made by taskgate"}


def demo(
    document: Annotated[Path, typer.Argument(help="A PDF to embed.")] = DOCUMENT,
) -> None:
    """Send a real PDF through the whole stack, show its life, and prove the result."""
    if not document.is_file():
        raise typer.BadParameter(f"there is no {document}; run this in a checkout of Taskgate")
    began = time.monotonic()
    proof = Proof()
    with _gateway() as note, Connection(note.url, note.api_key).client() as client:
        aside(f"gateway ready after {time.monotonic() - began:.1f} s: {note.url}")
        heard: list[Heard] = []
        with receiving(client.webhook_secrets(), heard.append) as hook:
            picture = client.submit(
                "text_to_image",
                PICTURE,
                callback_url=hook,
                then=[FollowUp(type="finish_image", input=FINISH, callback_url=hook)],
            )
            _embed(client, document, proof)
            _draw(picture, proof)
            finish = finished(picture, proof)
            told_of([picture, finish], heard, proof)
        _settle(client, proof)
    _finish(proof, time.monotonic() - began)


@contextmanager
def _gateway() -> Iterator[LocalNote]:
    """The gateway of a running `taskgate dev`, or one for this demo alone."""
    if running := running_note():
        aside("Using the gateway of `taskgate dev`")
        yield running
        return
    with local_gateway(persist=False, say=aside) as gateway:
        yield gateway.note


def _embed(client: Taskgate, document: Path, proof: Proof) -> None:
    title(f"A PDF goes in over HTTP: {document} ({size_of(document.stat().st_size)})")
    upload = client.upload(document)
    say(("  uploaded to the bucket by a signed form: ", ""), (upload.id, "bold"))
    given = {**CHUNK, "format": "pdf", "document": upload.ref}
    handle = client.submit("embed_document", given)
    task = watched(handle, proof)
    again = client.submit("embed_document", given, idempotency_key=handle.idempotency_key)
    proof.claim("the same submit sent twice made one task", again.replayed and again.id == task.id)
    if task.succeeded:
        _search(handle, proof)


def _search(handle: TaskHandle, proof: Proof) -> None:
    result, folder = handle.result(), RESULTS / handle.id
    handle.download(folder)
    index = VectorIndex(folder)
    where(result, folder)
    count = len(index.vectors)
    proof.claim(
        f"{count} vectors of {index.vectors.shape[1]} numbers, one a chunk, each of length 1",
        index.sound and result.output["vectors"] == count,
    )
    for question, words in QUESTIONS:
        hit = index.nearest(question)
        say((f"  “{question}”\n", "bold"), (f"    {hit.sentence.rstrip('.')}.", "cyan"))
        proof.claim(
            f"found by its vector: page {hit.page}, cosine {hit.score:.2f}, “{words}”",
            words in hit.text,
        )


def _draw(handle: TaskHandle, proof: Proof) -> None:
    title(f"A picture from a prompt: “{PICTURE['prompt']}” (a stand-in, no model weights)")
    if not watched(handle, proof).succeeded:
        return
    folder = RESULTS / handle.id
    (path,) = handle.download(folder)
    where(handle.result(), folder)
    proof.claim("the file is a PNG", path.read_bytes().startswith(b"\x89PNG\r\n\x1a\n"))


def _settle(client: Taskgate, proof: Proof) -> None:
    books = client.stats()
    title("The books")
    proof.claim(
        f"submitted {books.submitted} = active {books.active} + succeeded {books.succeeded}"
        f" + failed {books.failed} + timed out {books.timed_out} + canceled {books.canceled}",
        books.balanced and books.succeeded >= 2,
    )


def _finish(proof: Proof, seconds: float) -> None:
    if proof.untrue:
        raise CommandError(
            f"{len(proof.untrue)} of the demo's claims were not true: {'; '.join(proof.untrue)}",
            "This is a fault in Taskgate; please report it with the output above.",
            Exit.ENDED_BADLY,
        )
    say((f"\nAll of it was true, in {seconds:.1f} s.", "bold green"))
