"""History grows with the task and never makes it unsavable."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from taskgate.lifecycle.history import KEPT_FIRST, MAX_ENTRIES, Entry, cap_bytes, fold, told
from taskgate.lifecycle.states import State, Verb


def _entries(count: int) -> tuple[Entry, ...]:
    return tuple(
        Entry(at=i, verb=Verb.ENQUEUE, to=State.QUEUED, attempt=0, actor="t") for i in range(count)
    )


@given(st.integers(0, 300))
def test_folding_keeps_the_first_and_the_latest_and_counts_the_rest(count: int) -> None:
    folded = fold(_entries(count))
    assert len(folded) <= MAX_ENTRIES
    assert len(folded) + sum(e.folded for e in folded) == count
    assert [e.at for e in folded[:KEPT_FIRST]] == list(range(min(count, KEPT_FIRST)))
    if count:
        assert folded[-1].at == count - 1


@given(st.integers(0, 50), st.integers(0, 50))
def test_folding_what_was_folded_forgets_no_count(first: int, more: int) -> None:
    history: tuple[Entry, ...] = ()
    for entry in _entries(MAX_ENTRIES + first + more):
        history = fold((*history, entry))
    assert len(history) + sum(e.folded for e in history) == MAX_ENTRIES + first + more


def test_an_entry_after_a_fold_does_not_claim_to_know_where_it_came_from() -> None:
    told_entries = list(told(fold(_entries(MAX_ENTRIES + 1))))
    assert told_entries[KEPT_FIRST][0] is None
    assert told_entries[KEPT_FIRST + 1][0] is State.QUEUED


@given(st.text(max_size=300), st.integers(3, 100))
def test_a_text_is_cut_between_characters(text: str, limit: int) -> None:
    cut = cap_bytes(text, limit)
    assert len(cut.encode()) <= limit
    assert cut == text or text.startswith(cut[:-1])
