"""Ports that count the calls through them, or break at one of them."""

from __future__ import annotations

from collections.abc import Callable, Container
from dataclasses import dataclass, fields, replace
from typing import Any, cast

from taskgate.ports import Ports


class Counted:
    """Passes every call on and writes down its name."""

    def __init__(self, port: Any, name: str, calls: list[str]) -> None:
        self._port, self._name, self._calls = port, name, calls

    def __getattr__(self, method: str) -> Callable[..., Any]:
        def called(*arguments: Any, **named: Any) -> Any:
            self._calls.append(f"{self._name}.{method}")
            return getattr(self._port, method)(*arguments, **named)

        return called


def counting(calls: list[str], *more: str) -> Callable[[Ports], Ports]:
    """Ports whose calls are listed in `calls`; signing a URL and looking at the clock are none.

    Those of the bucket are listed when it is asked for: `results`.
    """

    def between(ports: Ports) -> Ports:
        left_out = {"now", "results"} - {*more}
        named = [f.name for f in fields(ports) if f.name not in left_out]
        return replace(ports, **{n: Counted(getattr(ports, n), n, calls) for n in named})

    return between


@dataclass
class Broken:
    """Raises at the methods that `methods` holds at the time, and passes all others on."""

    port: Any
    methods: Container[str]
    error: Exception

    def __getattr__(self, method: str) -> Any:
        return self._raise if method in self.methods else getattr(self.port, method)

    def _raise(self, *_: Any, **__: Any) -> Any:
        raise self.error


def breaking(port: str, method: str, error: Exception) -> Callable[[Ports], Ports]:
    """Ports of which `port.method` raises `error`."""

    def between(ports: Ports) -> Ports:
        return replace(ports, **{port: cast("Any", Broken(getattr(ports, port), {method}, error))})

    return between
