"""What a collector is sent of a task's life, and what it costs when the collector is ill."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from io import StringIO
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from opentelemetry.proto.trace.v1.trace_pb2 import Span as Sent
from opentelemetry.sdk.trace.export import SpanExportResult

from functions.logs import json_logger
from functions.outbox_callback import handler as outbox
from gpu_worker.ending import Ending, Finisher
from gpu_worker.heart import Heart
from gpu_worker.outcome import Broken, Done, Outcome
from gpu_worker.veil import Veil
from taskgate.gateway.outbox.delivering import Attempt, Reason
from taskgate.gateway.work.worker import Failure, Held, Produced
from taskgate.lifecycle.retry import ErrorClass, ErrorCode
from taskgate.metrics import labels
from taskgate.otlp import Collector
from taskgate.spans import NOBODY, Span, Spans, open_spans
from taskgate.tracing import span_id
from tests.collector import attributes_of, collecting, told
from tests.unit.functions.api_world import ENVIRONMENT, PROMPT, ApiWorld
from tests.unit.functions.http_events import http_event
from tests.unit.gpu_worker.loopback import Asked, Loopback, served

LABELS = labels("local", "c0")
TRACE = "4bf92f3577b34da6a3ce929d0e0e4736"
CALLER = "00f067aa0ba902b7"
HEADERS = {"traceparent": f"00-{TRACE}-{CALLER}-01", "tracestate": "congo=t61rcWkgMzE"}
SECRETS = ("a lighthouse", "hooks.example", "k=v", "acme", "ada", "no such thing")
TASK: dict[str, Any] = {
    **PROMPT,
    "callback_url": "https://hooks.example/taskgate?k=v",
    "then": [{"type": "embed_document", "input": {"text": "after"}}],
}


class Backend:
    """A collector on loopback, and the spans that came out of one process."""

    def __init__(self, at: Loopback) -> None:
        self.at = at
        self.collector = Collector(at.url, "test", LABELS)
        self.spans = Spans(self.collector)

    def sent(self) -> dict[str, Sent]:
        """Every span by its id, in the protocol's own form."""
        self.spans.flush()
        return {one.span.span_id.hex(): one.span for one in told(self.at)}


@pytest.fixture
def backend() -> Iterator[Backend]:
    with collecting() as at:
        made = Backend(at)
        yield made
        made.collector.close()


@pytest.fixture
def traced(backend: Backend) -> ApiWorld:
    return ApiWorld(spans=backend.spans)


def _run(api: ApiWorld, spans: Spans, folder: Path, outcome: Outcome) -> Held:
    """The worker's own finisher ends the next task."""
    held = api.claim()
    lanes = api.world.lanes
    heart = Heart(api.worker, held, 15, Veil(lanes, held.delivery, 45, 15))
    heart.start()
    finisher = Finisher(api.worker, spans)
    finisher.take(Ending(held, outcome, heart, folder / "attempt", 1.0))
    assert finisher.wait(10)
    return held


def _done(folder: Path) -> Done:
    (folder / "image.png").write_bytes(b"an image")
    return Done((Produced("image.png", str(folder / "image.png"), "image/png"),), None)


def test_a_life_is_one_tree_under_the_callers_span_and_no_word_of_a_user_is_in_it(
    traced: ApiWorld, backend: Backend, tmp_path: Path
) -> None:
    task_id = traced.post("/v1/tasks", TASK, headers=HEADERS).json["id"]
    _run(traced, backend.spans, tmp_path, _done(tmp_path))
    traced.receiver_says = [Attempt(503, Reason.SERVER_ERROR, 3)]
    traced.settle(hours=0.1)

    sent = backend.sent()
    submit, run = span_id(task_id, "submit"), span_id(task_id, "run", 1)
    tries = [span_id(task_id, "callback", 0, n) for n in (1, 2)]
    tree = {i: (span.name, span.parent_span_id.hex()) for i, span in sent.items()}
    assert tree == {
        submit: ("submit", CALLER),
        run: ("run", submit),
        tries[0]: ("callback", run),
        tries[1]: ("callback", run),
    }
    assert {span.trace_id.hex() for span in sent.values()} == {TRACE}
    assert {span.trace_state for span in sent.values()} == {"congo=t61rcWkgMzE"}
    assert all(span.end_time_unix_nano >= span.start_time_unix_nano for span in sent.values())
    assert attributes_of(sent[run].attributes)["taskgate.task.state"] == "succeeded"
    assert attributes_of(sent[tries[0]].attributes)["error.type"] == "server_error"
    assert [sent[i].status.code for i in tries] == [2, 0]
    told = "".join(str(span) for span in sent.values())
    assert not [word for word in SECRETS if word in told]


def test_a_follow_up_hangs_below_the_submit_of_the_task_that_it_follows(
    traced: ApiWorld, backend: Backend, tmp_path: Path
) -> None:
    parent = traced.post("/v1/tasks", TASK, headers=HEADERS).json["id"]
    _run(traced, backend.spans, tmp_path, _done(tmp_path))
    traced.settle()
    [child] = traced.get(f"/v1/tasks/{parent}").json["children"]
    _run(traced, backend.spans, tmp_path, _done(tmp_path))

    sent, submit = backend.sent(), span_id(child["id"], "submit")
    assert sent[submit].parent_span_id.hex() == span_id(parent, "submit")
    assert sent[span_id(child["id"], "run", 1)].parent_span_id.hex() == submit
    assert sent[submit].trace_id.hex() == TRACE


def test_a_run_that_failed_is_an_error_by_its_code_and_its_words_stay_here(
    traced: ApiWorld, backend: Backend, tmp_path: Path
) -> None:
    task_id = traced.submitted()
    failure = Failure(ErrorCode.INVALID_INPUT, "no such thing", ErrorClass.PERMANENT, "why")
    _run(traced, backend.spans, tmp_path, Broken(failure))
    run = backend.sent()[span_id(task_id, "run", 1)]
    assert (run.status.code, attributes_of(run.attributes)["error.type"]) == (2, "invalid_input")
    assert "no such thing" not in str(run)


def test_a_trace_that_its_caller_does_not_record_is_not_sent(
    traced: ApiWorld, backend: Backend
) -> None:
    traced.post("/v1/tasks", TASK, headers={"traceparent": f"00-{TRACE}-{CALLER}-00"})
    assert backend.sent() == {}


def test_a_replay_is_no_second_submit(traced: ApiWorld, backend: Backend) -> None:
    first = traced.submit(key="k").json["id"]
    before = backend.sent()[span_id(first, "submit")]
    traced.submit(key="k")
    assert backend.sent() == {span_id(first, "submit"): before}


def _ill(logged: StringIO) -> list[dict[str, Any]]:
    lines = [json.loads(line) for line in logged.getvalue().splitlines()]
    return [line for line in lines if str(line["message"]).startswith("spans_")]


def test_a_collector_that_is_down_is_told_of_once_and_no_task_pays(logged: StringIO) -> None:
    with served(lambda asked: (200, b"")) as gone:
        pass
    collector = Collector(gone.url, "test", LABELS, seconds=0.2)
    api = ApiWorld(spans=Spans(collector))
    json_logger("api")  # onto what is listened to
    for _ in range(3):
        assert api.submit().status == 202
        Spans(collector).flush()
    collector.close()
    assert [line["message"] for line in _ill(logged)] == ["spans_not_sent"]


def test_a_collector_that_never_answers_is_waited_for_once_and_within_bounds(
    logged: StringIO,
) -> None:
    over = threading.Event()

    def silent(asked: Asked) -> tuple[int, bytes]:
        over.wait(60)
        return 200, b""

    with served(silent) as at:
        collector = Collector(at.url, "test", LABELS, seconds=0.2)
        _submit_20(Spans(collector))
        assert len(at.asked) <= 2
        over.set()
        collector.close()
    # Had anybody waited for its answer, there would be nothing to tell.
    assert [line["message"] for line in _ill(logged)] == ["spans_not_sent"]


def test_a_sending_that_hangs_beyond_the_librarys_own_bounds_holds_nothing_up(
    logged: StringIO, monkeypatch: pytest.MonkeyPatch
) -> None:
    over, began = threading.Event(), []

    def hang(spans: Any) -> SpanExportResult:
        began.append(len(spans))
        over.wait(60)
        return SpanExportResult.SUCCESS

    collector = Collector("http://127.0.0.1:1", "test", LABELS, seconds=0.2)
    monkeypatch.setattr(collector._exporter._to, "export", hang)
    _submit_20(Spans(collector))
    assert began == [1]
    assert [line["message"] for line in _ill(logged)] == ["spans_not_sent"]
    over.set()
    collector.close()


def _submit_20(spans: Spans) -> None:
    api = ApiWorld(spans=spans)
    json_logger("api")  # onto what is listened to
    for _ in range(20):
        assert api.submit().status == 202
        spans.flush()


def test_a_collector_that_is_back_is_told_what_was_kept(logged: StringIO) -> None:
    answers = iter([400])
    with served(lambda asked: (next(answers, 200), b"")) as at:
        collector = Collector(at.url, "test", LABELS, pause=0)
        spans = Spans(collector)
        api = ApiWorld(spans=spans)
        json_logger("api")
        api.submit()
        spans.flush()
        api.submit()
        spans.flush()
        collector.close()
    assert [line["message"] for line in _ill(logged)] == ["spans_not_sent", "spans_sent_again"]


def test_nobody_is_told_unless_the_environment_names_a_collector() -> None:
    assert open_spans(ENVIRONMENT, "api") is NOBODY


class Flushed:
    """A sink that notes what it was asked for."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    def put(self, span: Span) -> None:
        self.asked.append(span.name)

    def flush(self) -> None:
        self.asked.append("flush")


class Faulty(Flushed):
    """A sink with a fault of its own."""

    def put(self, span: Span) -> None:
        raise RuntimeError(span.name)

    flush = put  # type: ignore[assignment]


def test_the_api_sends_its_spans_before_it_answers(
    environment: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    from functions.api import handler  # noqa: PLC0415 - it reads the environment

    sink = Flushed()
    monkeypatch.setattr(handler, "_SPANS", Spans(sink))
    handler.handler(http_event("GET", "/healthz"), None)
    assert sink.asked == ["flush"]


def test_the_outbox_sends_its_spans_before_it_answers_even_when_it_breaks(
    api: ApiWorld, environment: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    sink = Flushed()
    monkeypatch.setattr(outbox, "_outbox", lambda: api.outbox)
    monkeypatch.setattr(outbox, "_spans", lambda: Spans(sink))
    context = SimpleNamespace(get_remaining_time_in_millis=lambda: 60_000)
    outbox.handler({}, context)
    with pytest.raises(KeyError):
        outbox.handler({"Records": [{"no": "id"}]}, context)
    assert sink.asked == ["flush", "flush"]


def test_a_fault_of_ours_in_telling_ends_no_task(tmp_path: Path) -> None:
    spans = Spans(Faulty())
    api = ApiWorld(spans=spans)
    task_id = api.post("/v1/tasks", TASK).json["id"]
    _run(api, spans, tmp_path, _done(tmp_path))
    api.settle()
    spans.flush()
    shown = api.get(f"/v1/tasks/{task_id}").json
    assert (shown["state"], shown["callback"]["state"]) == ("succeeded", "delivered")
