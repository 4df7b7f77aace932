"""Why a task is in its state, and what it waits for."""

from __future__ import annotations

from typing import Final

from functions.api.schemas.callbacks import DEBTS
from functions.api.schemas.cancels import CANCEL
from functions.api.schemas.tasks import BUDGETS
from functions.http.shapes import (
    ID,
    SECONDS,
    TEXT,
    TIME,
    WHOLE,
    Schema,
    described,
    list_of,
    object_of,
    one_of,
    or_null,
    ref,
)
from taskgate.gateway.views import explaining

_LOOK: Final = object_of(
    {
        "at": described(TIME, "Not before this, unless something moves."),
        "by": described(TIME, "At about this at the latest."),
    }
)
_NEXT_LIMIT: Final = object_of(
    {"name": TEXT, "at": TIME, "then": described(ref("State"), "The state that follows.")}
)
_HOLDER: Final = object_of({"worker": TEXT, "started_at": TIME, "last_sign_at": TIME})
_QUANTILES: Final = or_null(
    object_of({"p50_seconds": SECONDS, "p90_seconds": SECONDS, "samples": WHOLE})
)
EXPLANATION: Final[Schema] = {
    "id": ID,
    "state": ref("State"),
    "since": TIME,
    "why": described(TEXT, "Why it is in this state."),
    "waits_for": described(or_null(TEXT), "Null once it has ended."),
    "next_look": described(or_null(_LOOK), "When the gateway looks; null when nothing is owed."),
    "next_limit": described(or_null(_NEXT_LIMIT), "The limit that comes first."),
    "holder": described(or_null(_HOLDER), "The worker of the present attempt."),
    "lane": object_of(
        {
            "name": TEXT,
            "waiting": described(
                or_null(WHOLE),
                "About so many wait in it; null when it does not. Its own place is not known.",
            ),
        }
    ),
    "cancel": CANCEL,
    "estimate": described(
        or_null(object_of({"wait": _QUANTILES, "run": _QUANTILES})),
        "From what tasks of its type in its lane did since yesterday, within a factor of 1.42; a part"
        " is null where fewer than 20 were seen, `wait` also while something else than its turn holds it"
        " back (a switch, no worker, the time of its next try), and the whole once it has ended.",
    ),
    "budgets": BUDGETS,
    "owes": described(or_null(object_of(DEBTS)), "What it owes, once it has ended."),
    "actions": list_of(
        described(
            one_of(sorted({*explaining.ACTIONS, *explaining.OPERATORS, "fail"})),
            "What you may ask for now.",
        )
    ),
    "sentences": described(list_of(TEXT), "The same in plain words."),
}
SCHEMAS: Final[dict[str, Schema]] = {"Explanation": object_of(EXPLANATION)}
