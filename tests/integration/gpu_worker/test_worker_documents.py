"""Documents through the whole worker: good ones become vectors, bad ones fail once."""

from __future__ import annotations

import base64
import io

import numpy as np
import pypdf
import pytest
from worker_world import WorkerWorld

from taskgate.lifecycle.retry import ErrorCode
from taskgate.lifecycle.states import State


def encrypted() -> bytes:
    writer = pypdf.PdfWriter()
    writer.add_blank_page(100, 100)
    writer.encrypt("secret", algorithm="RC4-128")
    out = io.BytesIO()
    writer.write(out)
    return out.getvalue()


def embed_pdf(world: WorkerWorld, raw: bytes) -> str:
    content = base64.b64encode(raw).decode()
    return world.submit_input("embed_document", {"format": "pdf", "content_base64": content})


@pytest.mark.parametrize(
    ("raw", "why"),
    [(b"%PDF-1.7 but not really", "cannot be read"), (encrypted(), "encrypted")],
    ids=["corrupt", "encrypted"],
)
def test_a_bad_pdf_fails_once_with_invalid_input_and_the_worker_lives_on(
    world: WorkerWorld, raw: bytes, why: str
) -> None:
    bad = embed_pdf(world, raw)
    good = world.submit_input("embed_document", {"text": "A short text about cats."})
    world.start()
    task = world.wait_ended(bad, 20)
    assert task.error is not None
    assert (task.state, task.attempt) == (State.FAILED, 1)
    assert task.error.code is ErrorCode.INVALID_INPUT
    assert why in task.error.message
    assert world.wait_ended(good, 20).state is State.SUCCEEDED
    assert len(world.events.named("child_ready")) == 1


def test_a_document_and_a_picture_are_made_by_one_child(world: WorkerWorld) -> None:
    text = "\n\n".join(f"Paragraph {n} tells about town number {n}." for n in range(100))
    document = world.submit_input("embed_document", {"text": text, "dimensions": 64})
    picture = world.submit_input(
        "text_to_image", {"prompt": "a harbour", "width": 64, "height": 64, "steps": 2}
    )
    world.start()
    assert world.wait_ended(document, 20).state is State.SUCCEEDED
    assert world.wait_ended(picture, 20).state is State.SUCCEEDED
    vectors = np.load(io.BytesIO(world.result(document, "vectors.npy")))
    assert vectors.shape == (world.output(document)["chunks"], 64)
    assert world.result(picture, "image.png").startswith(b"\x89PNG")
