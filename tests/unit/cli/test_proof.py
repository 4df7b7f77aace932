"""The demo's checks find what is untrue: else its ticks would mean nothing."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from taskgate.cli.demo import _finish
from taskgate.cli.demo_showing import s3_uri
from taskgate.cli.exits import CommandError, Exit
from taskgate.cli.proof import Proof, rising, unbroken
from taskgate.cli.search import VectorIndex
from taskgate.client import Task
from taskgate.client.answers import task_of

LIFE = task_of(
    {
        "id": "task_1",
        "history": [
            {"at": "2026-01-02T03:04:05Z", "verb": "submit", "from": None, "to": "created"},
            {"at": "2026-01-02T03:04:06Z", "verb": "enqueue", "from": "created", "to": "queued"},
            {"at": "2026-01-02T03:04:06Z", "verb": "claim", "from": "queued", "to": "processing"},
        ],
    }
).history


def test_a_history_without_a_gap_is_unbroken() -> None:
    assert unbroken(LIFE)


def test_a_missing_entry_a_time_that_runs_back_and_a_missing_time_break_it() -> None:
    assert not unbroken((LIFE[0], LIFE[2]))
    assert not unbroken((replace(LIFE[0], at=LIFE[2].at), replace(LIFE[1], at=LIFE[0].at)))
    assert not unbroken((LIFE[0], replace(LIFE[1], at=None)))


def test_progress_may_fall_only_with_a_new_attempt() -> None:
    first, fell, anew = (Task(id="t", attempt=1, progress=p) for p in (0.5, 0.4, 0.1))
    assert not rising([first, fell])
    assert rising([first, replace(anew, attempt=2)])


def test_one_untrue_claim_ends_the_demo_with_1_and_is_named() -> None:
    proof = Proof()
    proof.claim("water is wet", True)
    proof.claim("the moon is cheese", False)
    with pytest.raises(CommandError, match="the moon is cheese") as ended:
        _finish(proof, 1.0)
    assert ended.value.code is Exit.ENDED_BADLY
    _finish(Proof(), 1.0)


@pytest.mark.parametrize(
    ("vectors", "sound"),
    [
        ([[1, 0], [0, 1]], True),
        ([[1, 0]], False),
        ([[1, 0], [1, 0]], False),
        ([[2, 0], [0, 1]], False),
        ([[0, 0], [0, 1]], False),
    ],
)
def test_too_few_equal_long_or_empty_vectors_are_not_sound(
    tmp_path: Path, vectors: list[list[int]], sound: bool
) -> None:
    np.save(tmp_path / "vectors.npy", np.array(vectors, np.float32))
    lines = (json.dumps({"page": 1, "text": text}) for text in ("a", "b"))
    (tmp_path / "chunks.jsonl").write_text("\n".join(lines))
    assert VectorIndex(tmp_path).sound is sound


def test_a_signed_link_says_where_in_the_bucket_the_file_lies() -> None:
    signed = "http://127.0.0.1:4566/bucket/r/local/task_1/1/image.png?X-Amz-Signature=x"
    assert s3_uri(signed) == "s3://bucket/r/local/task_1/1/image.png"
