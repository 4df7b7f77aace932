"""HTTP to the gateway: one place for addresses, keys, timeouts, tries and problems."""

from __future__ import annotations

import ipaddress
import logging
import time
from collections.abc import Callable, Mapping
from http import HTTPStatus
from typing import Any, Final, TypeVar
from urllib.parse import quote

import httpx

from taskgate.client.backoff import BUSY, LOST, Backoff, retry_after_of
from taskgate.client.errors import Misunderstood, NotConfigured, Unreachable, Unsendable
from taskgate.client.problems import problem_of, server_of

T = TypeVar("T")
LOG: Final = logging.getLogger("taskgate.client")
"""Tells, as information, whenever a request is tried again, and why."""
IN_HEADER: Final = "A header holds characters that HTTP does not take."
TIMEOUT: Final = httpx.Timeout(connect=5.0, read=35.0, write=30.0, pool=5.0)
"""The read timeout outlasts HTTP API's own 30 s, so that its answer is seen, not a guess of ours."""


class Transport:
    """Sends requests, tries again where that is safe, and turns problems into exceptions."""

    def __init__(
        self,
        base_url: str,
        api_key: str,
        *,
        backoff: Backoff | None = None,
        sleep: Callable[[float], None] = time.sleep,
        transport: httpx.BaseTransport | None = None,
    ) -> None:
        self.base_url = checked_url(base_url.strip())
        self.backoff, self.sleep = backoff or Backoff(), sleep
        self._http = httpx.Client(
            headers={
                "Authorization": f"Bearer {checked_key(api_key.strip())}",
                "User-Agent": "taskgate-python",
            },
            timeout=TIMEOUT,
            transport=transport,
            trust_env=not is_loopback(self.base_url),
        )

    def close(self) -> None:
        self._http.close()

    def send(
        self,
        method: str,
        path: str,
        *,
        params: Mapping[str, str | int] | None = None,
        body: object | None = None,
        headers: Mapping[str, str] | None = None,
        once: bool = False,
    ) -> httpx.Response:
        """The answer, 2xx, 304 or a redirect; an `ApiError` or `Unreachable` for the rest.

        `once` is for what must not happen twice: a lost answer is then the caller's to look into.
        """
        try:
            request = self._http.build_request(
                method, self.base_url + path, params=params, json=body, headers=headers
            )
        except UnicodeEncodeError as error:
            raise Unsendable(_unsayable(error)) from error
        except (ValueError, TypeError) as error:
            # NaN, or something that JSON does not know.
            raise Unsendable(f"The request cannot be sent: {error}") from error
        response = self._settled(request, once=once)
        if response.status_code >= HTTPStatus.BAD_REQUEST:
            raise problem_of(response)
        return response

    def ask(self, parse: Callable[[Any], T], method: str, path: str, **options: Any) -> T:
        """The JSON of the answer, as what `parse` makes of it."""
        return understood(self.send(method, path, **options), parse)

    def _settled(self, request: httpx.Request, *, once: bool) -> httpx.Response:
        """The same request, byte for byte, until it is answered or the tries are used up."""
        tried = 0
        while True:
            tried += 1
            answer = self._attempt(request)
            if isinstance(answer, httpx.Response) and answer.status_code not in BUSY:
                return answer
            asked = retry_after_of(answer) if isinstance(answer, httpx.Response) else None
            delay = None if once else self.backoff.delay(tried, asked)
            if delay is None:
                return _given_up(answer, request, tried)
            LOG.info("%s Trying again in %.1f s.", _why(answer), delay)
            self.sleep(delay)

    def _attempt(self, request: httpx.Request) -> httpx.Response | httpx.TransportError:
        try:
            return self._http.send(request)
        except LOST as error:
            return error
        except httpx.LocalProtocolError:
            # Its text may hold the key, so it is not passed on.
            raise Unsendable(IN_HEADER) from None
        except httpx.HTTPError as error:
            raise Unreachable(f"{request.url.host}: {error}") from error


def task_path(task_id: str, verb: str = "") -> str:
    """The path of a task; an id from elsewhere cannot lead to another route."""
    if not task_id.strip():
        raise Unsendable("The task's id is empty.")
    return f"/v1/tasks/{quote(task_id, safe='')}{verb}"


def understood(response: httpx.Response, parse: Callable[[Any], T]) -> T:
    """What `parse` makes of the answer; `Misunderstood` when it is not of the form expected."""
    try:
        return parse(response.json())
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        status, led = response.status_code, response.headers.get("location")
        elsewhere = f" It leads on to {led}." if led and response.is_redirect else ""
        raise Misunderstood(
            f"{server_of(response)} answered {status} with something that is not Taskgate's.{elsewhere}"
        ) from error


def checked_url(url: str) -> str:
    """The address without a slash at its end; `NotConfigured` when it is not one."""
    try:
        parsed = httpx.URL(url)
    except httpx.InvalidURL:
        parsed = httpx.URL("")
    if parsed.userinfo:
        # Not repeated: it may be a secret. And httpx would send it in the place of the key.
        raise NotConfigured("The gateway's address names a user; the API key is all it takes.")
    if parsed.scheme not in {"http", "https"} or not parsed.host or parsed.query or parsed.fragment:
        raise NotConfigured(f"{url!r} is not an address of the form https://host/path.")
    return url.rstrip("/?#")


def checked_key(key: str) -> str:
    """The key, if a header can carry it; the error does not repeat it."""
    if key.lower().startswith("bearer "):
        raise NotConfigured("The API key is what follows `Bearer`; pass it without that word.")
    if not (key.isascii() and key.isprintable() and " " not in key):
        raise NotConfigured("The API key holds characters that no key of Taskgate has.")
    return key


def is_loopback(url: str) -> bool:
    """Whether the address is this machine: then no proxy of the environment must come between."""
    host = httpx.URL(url).host
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _unsayable(error: UnicodeEncodeError) -> str:
    """The error's own words tell of codecs, and would repeat what may be a secret."""
    if error.encoding == "ascii":
        return IN_HEADER
    return (
        "The request cannot be sent: a text holds half of a surrogate pair, which is no character."
    )


def _why(answer: httpx.Response | httpx.TransportError) -> str:
    if isinstance(answer, httpx.Response):
        return str(problem_of(answer))
    return f"No answer: {str(answer) or type(answer).__name__}."


def _given_up(
    answer: httpx.Response | httpx.TransportError, request: httpx.Request, tried: int
) -> httpx.Response:
    if isinstance(answer, httpx.Response):
        return answer
    said = str(answer) or type(answer).__name__
    raise Unreachable(
        f"No answer from {request.url.netloc.decode()} in {_times(tried)}: {said}",
        idempotency_key=request.headers.get("Idempotency-Key"),
    ) from answer


def _times(tried: int) -> str:
    return "1 try" if tried == 1 else f"{tried} tries"
