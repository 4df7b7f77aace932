"""The shipped runners do what their types say, with no network and no weights from elsewhere."""

from __future__ import annotations

import contextlib
import io
import json
import socket
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from pdf_samples import as_input, pdf
from PIL import Image

from gpu_worker.channel import Channel, ChannelClosed
from gpu_worker.context import Context
from gpu_worker.protocol import Run
from gpu_worker.runners.embed_document import EmbedDocument
from gpu_worker.runners.text_to_image import TextToImage
from taskgate.catalog.embed_document import EmbedDocumentInput
from taskgate.catalog.text_to_image import TextToImageInput


@pytest.fixture(scope="module")
def embedder() -> EmbedDocument:
    runner = EmbedDocument()
    runner.setup()
    return runner


class Ran:
    """One run of a runner: its output, its files, and the stages it told."""

    def __init__(self, runner: Any, folder: Path, task_input: dict[str, Any]) -> None:
        ours, theirs = socket.socketpair()
        listening = Channel(ours)
        order = Run(1, "m:C", "task_1", 1, str(folder), task_input)
        context = Context(order, Channel(theirs), threading.Event())
        self.output = runner.run(context, **task_input)
        self.files = {name: Path(path).read_bytes() for name, path, _ in context.files()}
        theirs.close()
        self.stages: list[str] = []
        self._listen(listening)
        ours.close()

    def _listen(self, line: Channel) -> None:
        with contextlib.suppress(ChannelClosed):
            while word := line.receive(1):
                if word.stage not in self.stages[-1:]:
                    self.stages.append(word.stage)


def embed(embedder: EmbedDocument, folder: Path, **given: Any) -> Ran:
    return Ran(embedder, folder, EmbedDocumentInput(**given).model_dump(mode="json"))


def draw(folder: Path, **given: Any) -> bytes:
    folder.mkdir(exist_ok=True)
    given = {"prompt": "a lighthouse", "width": 64, "height": 64} | given
    task_input = TextToImageInput(**given).model_dump(mode="json")
    return Ran(TextToImage(), folder, task_input).files["image.png"]


def test_a_pdf_becomes_unit_vectors_one_for_each_chunk(
    embedder: EmbedDocument, tmp_path: Path
) -> None:
    raw = pdf("The cat sleeps on the sofa. " * 20, "Trains leave the station at noon. " * 20)
    ran = embed(
        embedder, tmp_path, format="pdf", content_base64=as_input(raw), chunk_chars=200,
        overlap_chars=20,
    )  # fmt: skip
    vectors = np.load(io.BytesIO(ran.files["vectors.npy"]))
    chunks = [json.loads(line) for line in ran.files["chunks.jsonl"].splitlines()]
    assert vectors.dtype == np.float32
    assert vectors.shape == (len(chunks), 256)
    assert np.allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-5)
    assert {c["page"] for c in chunks} == {1, 2}
    assert ran.output["pages"] == 2
    assert ran.output["vectors"] == len(chunks)
    assert ran.stages == ["parse", "chunk", "embed", "index"]


def test_a_question_finds_the_chunk_that_answers_it(
    embedder: EmbedDocument, tmp_path: Path
) -> None:
    text = (
        "Our office is closed on public holidays and between the years.\n\n"
        "Refunds are paid within ten days to the card that was charged.\n\n"
        "The warehouse robots are charged every night from solar batteries."
    )
    ran = embed(embedder, tmp_path, text=text, chunk_chars=100, overlap_chars=0)
    vectors = np.load(io.BytesIO(ran.files["vectors.npy"]))
    query = embedder._unit(["When do I get my money back?"], 256)
    assert int(np.argmax(vectors @ query.T)) == 1


@pytest.mark.parametrize("dimensions", [64, 128, 256])
def test_the_vectors_have_the_dimensions_that_were_asked_for(
    embedder: EmbedDocument, tmp_path: Path, dimensions: int
) -> None:
    ran = embed(embedder, tmp_path, text="some words " * 100, dimensions=dimensions)
    assert np.load(io.BytesIO(ran.files["vectors.npy"])).shape[1] == dimensions
    assert ran.output["dimensions"] == dimensions


@pytest.mark.parametrize("text", ["\x00", "\uffff", "👩‍🚀", "a" * 60_000, "\u202e\u200d"])
def test_odd_texts_give_finite_vectors(embedder: EmbedDocument, tmp_path: Path, text: str) -> None:
    ran = embed(embedder, tmp_path, text=text)
    assert np.isfinite(np.load(io.BytesIO(ran.files["vectors.npy"]))).all()


def test_the_manifest_says_how_to_search_and_that_it_was_tried(
    embedder: EmbedDocument, tmp_path: Path
) -> None:
    text = "\n\n".join(f"Paragraph {n} is about topic number {n * 7}." for n in range(60))
    ran = embed(embedder, tmp_path, text=text, format="markdown", chunk_chars=120)
    manifest = json.loads(ran.files["manifest.json"])
    index = manifest["index"]
    assert (index["metric"], index["normalized"]) == ("cosine", True)
    tried = index["self_test"]
    assert tried["queries"] >= 8
    assert tried["found_first"] == tried["queries"]


def test_the_same_prompt_and_seed_draw_the_same_bytes(tmp_path: Path) -> None:
    assert draw(tmp_path / "a", seed=1) == draw(tmp_path / "b", seed=1)


@pytest.mark.parametrize("changed", [{"seed": 2}, {"prompt": "a forest"}, {"steps": 3}])
def test_another_prompt_seed_or_number_of_steps_draws_another_picture(
    tmp_path: Path, changed: dict[str, Any]
) -> None:
    assert draw(tmp_path / "a", seed=1) != draw(tmp_path / "b", **({"seed": 1} | changed))


@pytest.mark.parametrize("prompt", ["\x00", "👩‍🚀" * 100, "x" * 60_000])
def test_any_prompt_is_drawn_at_the_size_that_was_asked_for(tmp_path: Path, prompt: str) -> None:
    picture = Image.open(io.BytesIO(draw(tmp_path, prompt=prompt, width=128, steps=1)))
    assert picture.size == (128, 64)


def test_the_picture_says_that_it_is_a_stand_in(tmp_path: Path) -> None:
    picture = Image.open(io.BytesIO(draw(tmp_path)))
    assert "no model weights" in picture.info["Description"]
