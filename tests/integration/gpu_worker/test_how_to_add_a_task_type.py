"""The code of the how-to page works as it stands there."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from worker_world import WorkerWorld

from taskgate.catalog import Catalog
from taskgate.lifecycle.states import State

PAGE = Path(__file__).parents[3] / "docs" / "how-to" / "add-a-task-type.md"


def blocks() -> list[str]:
    return re.findall(r"```python\n(.*?)```", PAGE.read_text("utf-8"), re.DOTALL)


def test_the_type_of_the_how_to_page_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    entry, runner = blocks()
    (tmp_path / "how_to_word_count.py").write_text(runner)
    monkeypatch.syspath_prepend(tmp_path)
    names: dict[str, Any] = {"__name__": "how_to_entry"}
    exec(compile(entry, str(PAGE), "exec", dont_inherit=True), names)  # noqa: S102  the page's own code
    word_count = replace(names["WORD_COUNT"], runner="how_to_word_count:WordCount", pool="chaos")
    world = WorkerWorld(tmp_path, catalog=Catalog((word_count,)))
    good = world.submit_input("word_count", {"text": "the quick fox and the slow fox"})
    bad = world.submit_input("word_count", {"text": "the and"})
    world.start()
    assert world.wait_ended(good).state is State.SUCCEEDED
    assert world.output(good) == {"words": 4, "different": 3}
    assert world.result(good, "counts.csv") == b"fox,2\r\nquick,1\r\nslow,1\r\n"
    assert "stop words only" in str(world.wait_ended(bad).error)
    world.close()
