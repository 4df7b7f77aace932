"""W3C trace context: what is taken, what is ignored, and what is made without it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from taskgate.tracing import MAX_STATE, Met, Trace, bounded_state, incoming, own, span_id

TRACE = "4bf92f3577b34da6a3ce929d0e0e4736"
SPAN = "00f067aa0ba902b7"
PARENT = f"00-{TRACE}-{SPAN}-01"


def test_a_callers_trace_is_gone_on_with() -> None:
    found = incoming(PARENT, "congo=t61rcWkgMzE, rojo=00f067aa0ba902b7")
    assert found
    assert (found.span_id, found.trace.sampled) == (SPAN, True)
    assert found.trace.headers("b7ad6b7169203331") == {
        "traceparent": f"00-{TRACE}-b7ad6b7169203331-01",
        "tracestate": "congo=t61rcWkgMzE,rojo=00f067aa0ba902b7",
    }


def test_a_caller_that_does_not_record_is_heard() -> None:
    found = incoming(PARENT[:-1] + "0")
    assert found
    assert not found.trace.sampled


@pytest.mark.parametrize(
    "header",
    [
        None,
        "",
        "nonsense",
        PARENT.upper(),
        f"ff-{TRACE}-{SPAN}-01",
        f"00-{'0' * 32}-{SPAN}-01",
        f"00-{TRACE}-{'0' * 16}-01",
        f"00-{TRACE[:-1]}-{SPAN}-01",
        f"00-{TRACE}-{SPAN}-1",
        f"00-{TRACE}-{SPAN}-01-more",
        f"{PARENT},{PARENT}",
        f"{PARENT}\n",
        f"01-{TRACE}-{SPAN}-01more",
        PARENT.replace("4", "４"),
    ],
)
def test_a_malformed_traceparent_counts_as_none(header: str | None) -> None:
    assert incoming(header, "congo=1") is None


def test_a_later_version_is_read_by_what_it_shares_with_ours() -> None:
    found = incoming(f"cc-{TRACE}-{SPAN}-ff-what-the-future-brings")
    assert found
    assert found.trace.parent(SPAN) == f"00-{TRACE}-{SPAN}-03"


@pytest.mark.parametrize(
    "state",
    ["no-equals", "A=1", "a=1,a=2", "a=", "a=x=y", "é=1", ",".join(f"k{i}=1" for i in range(33))],
)
def test_a_malformed_tracestate_is_left_out_and_the_trace_goes_on(state: str) -> None:
    found = incoming(PARENT, state)
    assert found
    assert (found.trace.trace_id, found.trace.state) == (TRACE, "")


def test_a_long_tracestate_loses_its_long_members_first_and_then_the_last() -> None:
    long, short = f"long={'x' * 130}", [f"k{i}={'y' * 90}" for i in range(6)]
    assert bounded_state(",".join([long, *short])) == ",".join(short[:5])


@given(st.text(max_size=700))
def test_whatever_a_caller_writes_what_is_carried_is_bounded_and_well_formed(text: str) -> None:
    incoming(text, text)
    kept = bounded_state(text)
    assert len(kept) <= MAX_STATE
    assert kept.isascii()
    assert bounded_state(kept) == kept


def test_a_task_without_a_callers_trace_has_one_of_its_own_that_every_process_comes_to() -> None:
    assert own("task_1") == own("task_1") != own("task_2")
    found = incoming(own("task_1").parent(span_id("task_1", "submit")))
    assert found
    assert found.trace == own("task_1")
    assert len({span_id("task_1", "run", n) for n in range(100)}) == 100


def test_the_trace_of_a_task_that_was_not_met_is_not_guessed_and_old_ones_are_forgotten() -> None:
    met = Met(most=2)
    met.note("a", None)
    met.note("b", Trace(TRACE))
    assert (met.trace_id("a"), met.trace_id("b")) == (own("a").trace_id, TRACE)
    met.note("c", None)
    assert met.trace_id("a") is None
    assert met.trace_id("d") is None
