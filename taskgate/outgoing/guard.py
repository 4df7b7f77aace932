"""Where a callback may go. A tenant writes the URL, so it is the tenant's wish, not ours.

`well_formed` judges the text alone, at submit. `checked` also looks the name up, right before the
connection, and hands over the very addresses that were judged: the sender connects to one of them,
and nobody looks the name up again (DNS rebinding).
"""

from __future__ import annotations

import re
import socket
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from ipaddress import IPv6Address, ip_address
from typing import Any, Final
from urllib.parse import quote

from taskgate.outgoing.addresses import Address, refusal
from taskgate.outgoing.hosts import host_of
from taskgate.outgoing.unsafe import UnsafeUrl

PORTS: Final = frozenset({443, 8443})
MOST_CHARACTERS: Final = 2048
MOST_ADDRESSES: Final = 8
"""A name with more is judged by all, and tried at no more than these."""

Resolve = Callable[..., Sequence[tuple[Any, ...]]]
"""As `socket.getaddrinfo`."""

_URL: Final = re.compile(r"(?i:(https?))://([^/?#]*)([^#]*)")
_AUTHORITY: Final = re.compile(r"(\[[^\[\]]*\]|[^\[\]:@]+)(?::([1-9][0-9]{0,4}))?")


@dataclass(frozen=True, slots=True)
class Form:
    """A URL that is fit to be called, as far as its text tells."""

    tls: bool
    host: str
    """The name in ASCII, or the address; IPv6 without brackets. What the certificate must bear."""
    port: int
    path: str
    """Path and query, in ASCII; never empty."""
    address: Address | None = None
    """The host, when it is an address: nothing is left to look up."""

    @property
    def authority(self) -> str:
        """The Host header."""
        host = f"[{self.host}]" if isinstance(self.address, IPv6Address) else self.host
        return host if self.port == (443 if self.tls else 80) else f"{host}:{self.port}"


@dataclass(frozen=True, slots=True)
class Target:
    """A form whose every address was judged: connect to these, and to nothing else."""

    form: Form
    addresses: tuple[str, ...]


def well_formed(url: str, *, allow_local: bool = False) -> Form:
    """The URL in its parts, or `UnsafeUrl`. Looks nothing up and connects to nothing."""
    _check_characters(url)
    matched = _URL.fullmatch(url)
    if not matched:
        raise UnsafeUrl("it is not an absolute http(s) URL without a fragment")
    scheme, authority, path = matched[1].lower(), matched[2], matched[3]
    if scheme != "https" and not allow_local:
        raise UnsafeUrl("it must be https")
    host, port = _authority(authority, 443 if scheme == "https" else 80, allow_local=allow_local)
    return Form(
        tls=scheme == "https",
        host=str(host),
        port=port,
        path=_path(path),
        address=None if isinstance(host, str) else host,
    )


def checked(url: str, *, allow_local: bool, resolve: Resolve = socket.getaddrinfo) -> Target:
    """The URL with the addresses that it leads to, each of them judged, or `UnsafeUrl`.

    Raises `OSError` (`socket.gaierror`) when the name cannot be looked up just now.
    """
    form = well_formed(url, allow_local=allow_local)
    addresses = [form.address] if form.address else _look_up(form, resolve)
    for address in addresses:
        if reason := refusal(address, allow_local=allow_local):
            raise UnsafeUrl(f"the host leads to {reason}")
    return Target(form, tuple(map(str, addresses[:MOST_ADDRESSES])))


def _check_characters(url: str) -> None:
    if len(url) > MOST_CHARACTERS:
        raise UnsafeUrl(f"it is longer than {MOST_CHARACTERS} characters")
    if not url.isprintable() or any(c.isspace() or c == "\\" for c in url):
        # URL parsers drop or turn these round, each in its own way: none of them is asked.
        raise UnsafeUrl("it has white space, a control character or a backslash")


def _authority(text: str, default: int, *, allow_local: bool) -> tuple[str | Address, int]:
    if "@" in text:
        raise UnsafeUrl("it has user information")
    matched = _AUTHORITY.fullmatch(text)
    if not matched:
        raise UnsafeUrl("host and port cannot be read")
    port = int(matched[2] or default)
    if port > 65535 or not (allow_local or port in PORTS):
        raise UnsafeUrl("the port must be 443 or 8443")
    return host_of(matched[1], allow_local=allow_local), port


def _path(text: str) -> str:
    # What is ASCII stays as it is, percent signs included: the path is the receiver's own.
    ascii_only = quote(text, safe="".join(map(chr, range(0x21, 0x7F))))
    return ascii_only if ascii_only.startswith("/") else f"/{ascii_only}"


def _look_up(form: Form, resolve: Resolve) -> list[Address]:
    found = resolve(form.host, form.port, type=socket.SOCK_STREAM)
    # An address may come with a zone ("fe80::1%eth0"): it stays, and is refused for what it is.
    addresses = [ip_address(entry[4][0]) for entry in found]
    if not addresses:
        raise UnsafeUrl("the host leads to no address")
    return list(dict.fromkeys(addresses))
