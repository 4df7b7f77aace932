"""The error tree. A class's docstring is its message, so each error is explained once.

::

    TaskgateError
    ├── BadSetting                a setting is missing or outside its bounds
    ├── Refused                   a guarded write found something else; carries what it found
    │   └── LeaseLost             ... found that the attempt is no longer ours
    ├── IllegalTransition         a verb was asked of a state that does not know it
    ├── IdTaken                   a new record's id is on record already
    ├── Unavailable               a store could not answer just now; nothing is known to have changed
    └── Problem                   the caller's request cannot be served (functions/http/problems.py maps it)
        ├── InvalidRequest                                                  requests
        │   ├── MalformedJson
        │   │   ├── EmptyBody, NotAnObject
        │   │   └── DuplicateKey, LoneSurrogate, NestedTooDeep, InexactNumber
        │   ├── BodyTooLarge
        │   ├── UnknownTaskType
        │   ├── InvalidInput
        │   ├── BadIdempotencyKey, BadOnBehalfOf
        │   └── BadCursor
        ├── IdempotencyKeyReused
        ├── Unauthenticated                                                 callers
        │   └── ExpiredKey
        ├── MissingScope, PriorityNotAllowed
        ├── TaskNotFound, ResultFileNotFound, LedgerNotFound                records
        ├── UnknownKey, NoPlanName, BulkNotFound
        ├── ResultNotReady, VerbNotAllowed, NoCallback
        ├── KeyEnded, PlanMoved, BadConfirmToken
        ├── ResultExpired, TaskExpired
        ├── TooManyPendingTasks, RateLimited, LaneFull                      limits
        └── IntakePaused
            └── TypePaused
"""

from taskgate.errors.base import BadSetting, TaskgateError
from taskgate.errors.callers import ExpiredKey, MissingScope, PriorityNotAllowed, Unauthenticated
from taskgate.errors.limits import (
    IntakePaused,
    LaneFull,
    RateLimited,
    TooManyPendingTasks,
    TypePaused,
)
from taskgate.errors.problem import FieldProblem, Problem
from taskgate.errors.records import (
    BadConfirmToken,
    BulkNotFound,
    KeyEnded,
    LedgerNotFound,
    NoCallback,
    NoPlanName,
    PlanMoved,
    ResultExpired,
    ResultFileNotFound,
    ResultNotReady,
    TaskExpired,
    TaskNotFound,
    UnknownKey,
    VerbNotAllowed,
)
from taskgate.errors.requests import (
    BadCursor,
    BadIdempotencyKey,
    BadOnBehalfOf,
    BodyTooLarge,
    DuplicateKey,
    EmptyBody,
    IdempotencyKeyReused,
    InexactNumber,
    InvalidInput,
    InvalidRequest,
    LoneSurrogate,
    MalformedJson,
    NestedTooDeep,
    NotAnObject,
    UnknownTaskType,
)
from taskgate.errors.writes import IdTaken, IllegalTransition, LeaseLost, Refused, Unavailable

__all__ = [
    "BadConfirmToken",
    "BadCursor",
    "BadIdempotencyKey",
    "BadOnBehalfOf",
    "BadSetting",
    "BodyTooLarge",
    "BulkNotFound",
    "DuplicateKey",
    "EmptyBody",
    "ExpiredKey",
    "FieldProblem",
    "IdTaken",
    "IdempotencyKeyReused",
    "IllegalTransition",
    "InexactNumber",
    "IntakePaused",
    "InvalidInput",
    "InvalidRequest",
    "KeyEnded",
    "LaneFull",
    "LeaseLost",
    "LedgerNotFound",
    "LoneSurrogate",
    "MalformedJson",
    "MissingScope",
    "NestedTooDeep",
    "NoCallback",
    "NoPlanName",
    "NotAnObject",
    "PlanMoved",
    "PriorityNotAllowed",
    "Problem",
    "RateLimited",
    "Refused",
    "ResultExpired",
    "ResultFileNotFound",
    "ResultNotReady",
    "TaskExpired",
    "TaskNotFound",
    "TaskgateError",
    "TooManyPendingTasks",
    "TypePaused",
    "Unauthenticated",
    "Unavailable",
    "UnknownKey",
    "UnknownTaskType",
    "VerbNotAllowed",
]
