"""Answers HTTP API events: each route of a room by the verb that serves it, behind one resolver."""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Callable, Mapping
from typing import Any, Final, Generic, TypeVar

from aws_lambda_powertools import Logger
from aws_lambda_powertools.event_handler import APIGatewayHttpResolver, Response
from aws_lambda_powertools.event_handler.exceptions import NotFoundError

from functions.http import door
from functions.http.asked import Asked, authenticated, authorizer_context
from functions.http.door import Door
from functions.http.problems import MethodNotAllowed, NoSuchRoute, problem_of, told
from taskgate.errors import Problem
from taskgate.metrics import measured
from taskgate.routes import ROUTES, Route
from taskgate.tracing import MET, incoming

D = TypeVar("D")
"""A room's desk: what its verbs work with."""
Verbs = Mapping[tuple[str, str], Callable[[D, Asked], Response[str]]]
"""What serves a route, by its method and path."""

# Powertools keeps the event in a class attribute of all resolvers: were two events ever served at
# once in one process, one caller could be answered with the other's task.
_ONE_AT_A_TIME: Final = threading.RLock()


class Service(Generic[D]):
    """Answers HTTP API events, and logs one line for each."""

    def __init__(
        self,
        desk: D,
        verbs: Verbs[D],
        logger: Logger,
        labels: Mapping[str, str],
        entry: Door | None = None,
    ) -> None:
        self._desk, self._logger, self._labels = desk, logger, labels
        self._door = entry or Door()
        self._code: str | None = None
        """The problem that the event in hand was answered with."""
        self._resolver = APIGatewayHttpResolver()
        for route in ROUTES:
            if (route.method, route.path) in verbs:
                self._serve(route, verbs[route.method, route.path])
        self._resolver.exception_handler(Exception)(self._refuse)

    def answer(self, event: dict[str, Any], context: Any) -> dict[str, Any]:
        """The answer to one event; never an exception."""
        started = time.perf_counter()
        with _ONE_AT_A_TIME:
            self._code = None
            answer = self._answer(event, context)
            # No browser may take an answer for another kind of thing than it says it is.
            answer["headers"]["X-Content-Type-Options"] = "nosniff"
            self._log(event, answer, time.perf_counter() - started)
        return answer

    def _answer(self, event: dict[str, Any], context: Any) -> dict[str, Any]:
        if not self._door.admits(event):
            self._code = door.CODE
            return door.closed()
        return self._resolver.resolve(event, context)

    def _serve(self, route: Route, verb: Callable[[D, Asked], Response[str]]) -> None:
        def served(**arguments: str) -> Response[str]:
            event = self._resolver.current_event.raw_event
            if not route.public:
                authenticated(event)  # nobody gets further without a principal
            return verb(self._desk, Asked(event, arguments))

        rule = re.sub(r"{(\w+)}", r"<\1>", route.path)
        self._resolver.route(rule, method=route.method)(served)

    def _refuse(self, error: Exception) -> Response[str]:
        context = self._resolver.current_event.raw_event["requestContext"]
        if isinstance(error, NotFoundError):
            error = _unknown(context["http"]["method"], context["http"]["path"])
        problem = problem_of(error)
        self._code = problem.code
        # A switch that refuses is no fault: it is told as any other refusal.
        if problem.status >= 500 and problem is not error:
            self._logger.error("request_broke", exc_info=error, request_id=context["requestId"])
        return told(problem, context["requestId"])

    def _log(self, event: Mapping[str, Any], answer: Mapping[str, Any], seconds: float) -> None:
        ms = round(seconds * 1000, 1)
        fields = {
            "event": "request",
            "route": event.get("routeKey"),
            "status": answer["statusCode"],
            "code": self._code,
            "ms": ms,
            "tenant": authorizer_context(event).get("tenant"),
            "request_id": event["requestContext"]["requestId"],
            "trace_id": _trace_id(event, answer),
        }
        # An answer that was held back because its caller asked for it says nothing of our speed.
        line = measured(fields | ({} if _held(event) else {"unheld_ms": ms}), self._labels)
        self._logger.info(line.pop("event"), **line)


def _trace_id(event: Mapping[str, Any], answer: Mapping[str, Any]) -> str | None:
    """The trace of the task that was submitted or asked about, else of the request itself."""
    submitted = incoming((answer.get("headers") or {}).get("traceresponse"))
    if submitted:
        return submitted.trace.trace_id
    parts = str(event.get("rawPath", "")).split("/")
    task = next(filter(None, map(MET.trace_id, parts)), None)
    caller = incoming((event.get("headers") or {}).get("traceparent"))
    return task or (caller.trace.trace_id if caller else None)


def _held(event: Mapping[str, Any]) -> bool:
    """Whether the answer may take its time: the caller waits for news, or asks for a lot at once."""
    asked = event.get("queryStringParameters") or {}
    prefer = str((event.get("headers") or {}).get("prefer", ""))
    admin = str(event.get("rawPath", "")).startswith("/v1/admin")
    return admin or "wait" in asked or "wait" in prefer.lower()


def _unknown(method: str, path: str) -> Problem:
    """Why no route fits: the path is unknown, or only its method is."""
    fits = [r.method for r in ROUTES if re.fullmatch(re.sub(r"{\w+}", "[^/]+", r.path), path)]
    if not fits or method in fits:
        return NoSuchRoute()
    return MethodNotAllowed(tuple(fits))
