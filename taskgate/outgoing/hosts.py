"""The host of a callback URL, brought to one form: a name in ASCII, or an address in full."""

from __future__ import annotations

import re
from ipaddress import AddressValueError, IPv4Address, IPv6Address
from typing import Final

import idna

from taskgate.outgoing.addresses import Address, refusal
from taskgate.outgoing.unsafe import UnsafeUrl

MOST_CHARACTERS: Final = 253
_LABEL: Final = re.compile(r"[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?")
_QUAD: Final = re.compile(r"(0|[1-9]\d{0,2})(\.(0|[1-9]\d{0,2})){3}", re.ASCII)
_NUMBER: Final = re.compile(r"\d+|0x[0-9a-f]*", re.ASCII)
_INSIDE: Final = frozenset(
    {"arpa", "corp", "home", "internal", "intranet", "lan", "local", "localdomain", "localhost"}
    | {"onion", "private"}
)
"""Top-level names that never are on the public internet (RFC 6761, RFC 6762, ICANN)."""


def host_of(text: str, *, allow_local: bool) -> str | Address:
    """The host of an authority, without its port; `UnsafeUrl` when nobody may be called there."""
    host = _address(text) or _quad(name := _ascii(text)) or _name(name, allow_local=allow_local)
    if isinstance(host, str):
        return host
    if reason := refusal(host, allow_local=allow_local):
        raise UnsafeUrl(f"the host is {reason}")
    return host


def _address(text: str) -> IPv6Address | None:
    if not text.startswith("["):
        return None
    try:
        address = IPv6Address(text.removeprefix("[").removesuffix("]"))
    except AddressValueError:
        raise UnsafeUrl("what stands in brackets is not an IPv6 address") from None
    if address.scope_id is not None:
        raise UnsafeUrl("an IPv6 address with a zone is on a local link")
    return address


def _ascii(text: str) -> str:
    """The name by IDNA 2008, lower case, one trailing dot taken off."""
    name = text.lower()
    if not name.isascii() or "xn--" in name:
        try:
            name = idna.encode(name, uts46=True, std3_rules=True).decode()
        except idna.IDNAError:
            raise UnsafeUrl("the host is not a valid international name") from None
    return name.removesuffix(".")


def _quad(name: str) -> IPv4Address | None:
    """An IPv4 address in its one form. Others (octal, hex, one number, short) are read in different
    ways by different libraries, so they are not read at all.
    """
    if not _NUMBER.fullmatch(name.rpartition(".")[2]):
        return None
    if not _QUAD.fullmatch(name):
        raise UnsafeUrl("an IPv4 address must be four decimal numbers without leading zeros")
    try:
        return IPv4Address(name)
    except AddressValueError:
        raise UnsafeUrl("an IPv4 address must be four numbers up to 255") from None


def _name(name: str, *, allow_local: bool) -> str:
    labels = name.split(".")
    if len(name) > MOST_CHARACTERS or not all(map(_LABEL.fullmatch, labels)):
        raise UnsafeUrl("the host is not a valid name")
    if allow_local:
        return name
    if labels[-1] in _INSIDE:
        raise UnsafeUrl("the host is a name of an inner network")
    if len(labels) == 1:
        raise UnsafeUrl("the host has no domain")
    return name
