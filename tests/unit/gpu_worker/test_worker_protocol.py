"""Supervisor and child understand each other, and nobody else can confuse them."""

from __future__ import annotations

import contextlib
import socket
import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from gpu_worker.channel import MAX_FRAME, Channel, ChannelClosed
from gpu_worker.context import Context, TaskCanceled
from gpu_worker.output import BadOutput
from gpu_worker.protocol import (
    BrokenFrame,
    Cancel,
    Drain,
    Extend,
    Failed,
    Finished,
    Load,
    Loaded,
    Progressed,
    Ready,
    Run,
    Saved,
    Snoozed,
    Stopped,
    TimeLeft,
    decode,
    encode,
)
from gpu_worker.runner import Snooze
from taskgate.lifecycle.transitions import MAX_CHECKPOINT

TEXT = 'a\nb"\x00\uffff\ud800👩‍🚀'
RUN = Run(1, "m:C", "task_1", 2, "/folder", {"prompt": TEXT}, "checkpoint")
MESSAGES = [
    RUN,
    Load("m:C"),
    Cancel(3),
    Drain(),
    Ready(),
    Loaded("m:C"),
    Progressed(1, 0.5, TEXT),
    Saved(1, TEXT),
    Finished(1, [("a.txt", "/f/a.txt", "text/plain")], '{"a":1}'),
    Failed(number=1, code="model_error", error_class="transient", message=TEXT, restart=True),
    Stopped(1),
    Extend(1, 90.5),
    Snoozed(1, 60),
    TimeLeft(1, 12.5, answers=True),
]


@pytest.fixture
def ends() -> Iterator[tuple[Channel, Channel]]:
    one, other = (Channel(end) for end in socket.socketpair())
    yield one, other
    one.close()
    other.close()


@pytest.mark.parametrize("message", MESSAGES, ids=lambda m: type(m).__name__)
def test_every_message_survives_the_line_and_is_one_ascii_line(message: object) -> None:
    line = encode(message)  # type: ignore[arg-type]
    assert line.isascii()
    assert line.index(b"\n") == len(line) - 1
    assert decode(line) == message


@pytest.mark.parametrize(
    "line", [b"", b"noise", b"[]", b"3", b"{}", b'{"kind": "Popen"}', b'{"kind": "Load", "x": 1}']
)
def test_what_is_no_message_is_a_broken_frame(line: bytes) -> None:
    with pytest.raises(BrokenFrame):
        decode(line)


@pytest.mark.parametrize(
    "line",
    [
        b'{"kind": "Failed", "number": 1, "code": "no_such", "error_class": "crash", "message": ""}',
        b'{"kind": "Failed", "number": 1, "code": "poison", "error_class": "no", "message": ""}',
        b'{"kind": "Snoozed", "number": 1, "seconds": NaN}',
        b'{"kind": "Snoozed", "number": 1, "seconds": "soon"}',
        b'{"kind": "Snoozed", "number": {}, "seconds": 1}',
        b'{"kind": "Finished", "number": 1, "files": [["out"]]}',
        b'{"kind": "Finished", "number": 1, "files": 7}',
        b'{"kind": ["Failed"]}',
    ],
)
def test_a_child_that_was_taken_over_can_say_nothing_that_ends_its_worker(line: bytes) -> None:
    with pytest.raises(BrokenFrame):
        decode(line)


def test_nothing_in_time_is_none_and_messages_keep_their_order(
    ends: tuple[Channel, Channel],
) -> None:
    one, other = ends
    assert one.receive(0.01) is None
    for message in MESSAGES:
        other.send(message)  # type: ignore[arg-type]
    assert [one.receive(1) for _ in MESSAGES] == MESSAGES


def test_a_message_larger_than_the_sockets_buffer_arrives_whole(
    ends: tuple[Channel, Channel],
) -> None:
    one, other = ends
    large = Saved(1, "ü" * 500_000)
    sender = threading.Thread(target=other.send, args=(large,))
    sender.start()
    assert one.receive(5) == large
    sender.join()


def test_a_frame_without_end_is_cut_off(ends: tuple[Channel, Channel]) -> None:
    one, other = ends

    def flood() -> None:
        with contextlib.suppress(OSError):
            other._end.sendall(b"x" * (2 * MAX_FRAME))

    flooding = threading.Thread(target=flood)
    flooding.start()
    with pytest.raises(BrokenFrame):
        one.receive(5)
    one.close()
    flooding.join(5)
    assert not flooding.is_alive()


def test_the_end_of_the_other_side_is_noticed_at_once(ends: tuple[Channel, Channel]) -> None:
    one, other = ends
    other.close()
    with pytest.raises(ChannelClosed):
        one.receive(5)
    with pytest.raises(ChannelClosed):
        one.send(Ready())


@pytest.fixture
def context(ends: tuple[Channel, Channel], tmp_path: Path) -> Context:
    order = Run(1, "m:C", "task_1", 2, str(tmp_path), {})
    return Context(order, ends[0], threading.Event())


def test_a_million_progress_calls_do_not_flood_the_line(
    context: Context, ends: tuple[Channel, Channel]
) -> None:
    for step in range(100_000):
        context.progress(step / 100_000)
    context.stage("last")
    words = []
    while (word := ends[1].receive(0)) is not None:
        words.append(word)
    assert len(words) < 30
    assert words[-1] == Progressed(1, 0.99999, "last")


def test_progress_never_falls_and_nonsense_is_ignored(
    context: Context, ends: tuple[Channel, Channel]
) -> None:
    for n, fraction in enumerate([0.5, 0.2, float("nan"), -3, 40, 1.0]):
        context.progress(fraction, f"stage {n}")
    seen = [ends[1].receive(1).fraction for _ in range(6)]
    assert seen == [0.5, 0.5, 0.5, 0.5, 0.5, 1.0]


def test_every_call_to_the_context_of_a_canceled_task_raises(context: Context) -> None:
    context.cancel()
    assert context.canceled
    for call in (
        lambda: context.progress(0.1),
        lambda: context.stage("x"),
        lambda: context.wait(10),
        lambda: context.file("a.txt", "text/plain"),
        lambda: context.save_checkpoint("x"),
        lambda: context.extend(10),
    ):
        with pytest.raises(TaskCanceled):
            call()


def test_a_checkpoint_that_would_be_cut_is_refused_to_the_runner(context: Context) -> None:
    context.save_checkpoint("é" * (MAX_CHECKPOINT // 2))
    with pytest.raises(ValueError, match="at most 1024 bytes"):
        context.save_checkpoint("é" * (MAX_CHECKPOINT // 2) + "x")


def test_a_wait_ends_when_the_task_is_canceled(context: Context) -> None:
    threading.Timer(0.1, context.cancel).start()
    began = time.monotonic()
    with pytest.raises(TaskCanceled):
        context.wait(10)
    assert time.monotonic() - began < 2


def timed(
    ends: tuple[Channel, Channel], folder: Path, seconds: float
) -> tuple[Context, list[Extend], threading.Thread]:
    """A context with so much time, and a supervisor that grants 100 s and notes what was asked."""
    context = Context(
        replace(RUN, folder=str(folder), seconds_left=seconds), ends[0], threading.Event()
    )
    asked: list[Extend] = []

    def supervise() -> None:
        with contextlib.suppress(ChannelClosed):
            while word := ends[1].receive(3):
                asked.append(word)
                context.hear(TimeLeft(1, 100.0, answers=True))

    thread = threading.Thread(target=supervise)
    thread.start()
    return context, asked, thread


def test_an_extension_asks_only_when_too_little_is_left(
    ends: tuple[Channel, Channel], tmp_path: Path
) -> None:
    context, asked, thread = timed(ends, tmp_path, 50)
    for _ in range(1000):
        assert context.extend(40) > 40
    assert asked == []
    assert 95 < context.extend(60) <= 100
    for _ in range(1000):
        context.extend(90)
    assert asked == [Extend(1, 60)]
    ends[0].close()
    thread.join()


def test_a_run_that_waits_for_more_time_hears_its_cancel(context: Context) -> None:
    threading.Timer(0.1, context.cancel).start()
    with pytest.raises(TaskCanceled):
        context.extend(60)


def test_news_that_answer_nothing_change_the_time_and_wake_no_extension(context: Context) -> None:
    context.hear(TimeLeft(1, 33.0))
    assert 32 < context.seconds_left <= 33
    assert context._answers == 0


@pytest.mark.parametrize("seconds", [0, -1, float("nan"), float("inf")])
def test_time_is_asked_for_in_seconds_above_0(context: Context, seconds: float) -> None:
    with pytest.raises(ValueError, match="seconds above 0"):
        context.extend(seconds)
    with pytest.raises(ValueError, match="seconds above 0"):
        Snooze(seconds)


@pytest.mark.parametrize("name", ["", "../x", "a/b", ".hidden", "ä.txt", "x" * 101, "a\n"])
def test_a_result_file_has_a_plain_name(context: Context, name: str) -> None:
    with pytest.raises(ValueError, match="plain file name"):
        context.file(name, "text/plain")


def test_a_declared_file_must_be_written(context: Context) -> None:
    context.file("a.txt", "text/plain").write_text("a")
    assert [f[0] for f in context.files()] == ["a.txt"]
    context.file("b.txt", "text/plain")
    with pytest.raises(BadOutput, match=r"b\.txt"):
        context.files()


def test_a_task_has_a_bounded_number_of_files(context: Context) -> None:
    for n in range(20):
        context.file(f"f{n}", "text/plain")
    with pytest.raises(ValueError, match="at most 20"):
        context.file("one-too-many", "text/plain")
