"""JSON Schemas of the proof that every task is accounted for."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from functions.admin.bodies import AskBody
from functions.http.shapes import (
    TEXT,
    TIME,
    WHOLE,
    Schema,
    bodies_of,
    described,
    list_of,
    object_of,
    one_of,
    or_null,
)
from taskgate.gateway.office.soundness import Kind
from taskgate.proofs import Stand

_KIND: Final = one_of(Kind)
_FINDING: Final[Schema] = object_of(
    {
        "kind": _KIND,
        "task_id": described(or_null(TEXT), "The task, or the key of what cannot be read."),
        "tenant": or_null(TEXT),
        "user": or_null(TEXT),
        "found": described(TEXT, "What was there."),
        "expected": described(TEXT, "What should have been."),
    }
)
_RUN: Final[Schema] = object_of(
    {
        "began_at": TIME,
        "ended_at": TIME,
        "finished": described(
            {"type": "boolean"}, "False: not every record was looked at; the next run goes on."
        ),
        "tasks": described(WHOLE, "Records looked at."),
        "books": described(WHOLE, "Shards of ledgers looked at."),
        "unaccounted": described(WHOLE, "Tasks that the differences leave unaccounted for."),
        "differences": WHOLE,
        "kinds": list_of(object_of({"kind": _KIND, "count": WHOLE})),
        "findings": described(list_of(_FINDING), "The first 100 differences, with their evidence."),
    }
)
SCHEMAS: Final[Mapping[str, Schema]] = {
    **bodies_of({"AskReconcile": AskBody}),
    "Reconcile": object_of(
        {
            "state": described(one_of(Stand), "Whether a run goes on or is asked for."),
            "asked_at": described(or_null(TIME), "When somebody last asked for a run."),
            "asked_by": or_null(TEXT),
            "begun_at": described(or_null(TIME), "When the latest run began."),
            "last": described(or_null(_RUN), "The last run that came to an end."),
        }
    ),
}
