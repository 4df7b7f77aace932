"""Ports that count the calls through them, or fail at one of them."""

from __future__ import annotations

from collections.abc import Callable, Container
from dataclasses import dataclass, field, fields, replace
from typing import Any, cast

from taskgate.errors import Unavailable
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

    return lambda ports: _each(ports, lambda port, name: Counted(port, name, calls), *more)


@dataclass
class Faulty:
    """Every port, of whose calls one fails by `error`, before or `after` it took effect."""

    error: type[BaseException] = Unavailable
    at: int = -1
    after: bool = False
    calls: list[str] = field(default_factory=list)

    def between(self, ports: Ports) -> Ports:
        return _each(ports, lambda port, name: _Doomed(port, name, self))

    def arm(self, at: int, *, after: bool) -> None:
        self.at, self.after, self.calls = at, after, []

    def call(self, name: str, act: Callable[[], Any]) -> Any:
        self.calls.append(name)
        if len(self.calls) - 1 != self.at:
            return act()
        if self.after:
            act()
        raise self.error


@dataclass
class _Doomed:
    port: Any
    name: str
    faulty: Faulty

    def __getattr__(self, method: str) -> Callable[..., Any]:
        def called(*given: Any, **named: Any) -> Any:
            act = getattr(self.port, method)
            return self.faulty.call(f"{self.name}.{method}", lambda: act(*given, **named))

        return called


def _each(ports: Ports, wrapped: Callable[[Any, str], Any], *more: str) -> Ports:
    left_out = {"now", "results"} - {*more}
    named = [f.name for f in fields(ports) if f.name not in left_out]
    return replace(ports, **{name: wrapped(getattr(ports, name), name) for name in named})


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
