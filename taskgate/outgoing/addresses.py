"""Which addresses a callback may go to: the public internet, and nothing that only looks like it.

The table is our own. `ipaddress.is_global` changed its mind between Python releases, and calls
addresses global that lead back inside (NAT64, 6to4, Azure's 168.63.129.16).
"""

from __future__ import annotations

from ipaddress import (
    IPv4Address,
    IPv4Network,
    IPv6Address,
    IPv6Network,
    ip_network,
)
from typing import Final

Address = IPv4Address | IPv6Address
Network = IPv4Network | IPv6Network

METADATA: Final = "a metadata address"
LOOPBACK: Final = "a loopback address"
PRIVATE: Final = "a private address"
LOCAL: Final = frozenset({LOOPBACK, PRIVATE})
"""What a local stage may call: this machine and its own networks, never metadata."""

_GLOBAL_V6: Final = ip_network("2000::/3")

# The first network that holds the address names the reason: the narrow ones stand first.
_REFUSED: Final[tuple[tuple[Network, str], ...]] = tuple(
    (ip_network(network), reason)
    for reason, networks in (
        (METADATA, "169.254.169.254/32 169.254.170.0/24 169.254.100.0/24 169.254.169.0/24"),
        (METADATA, "fd00:ec2::/32 168.63.129.16/32 100.100.100.200/32 192.0.0.192/32"),
        (LOOPBACK, "127.0.0.0/8 ::1/128"),
        (PRIVATE, "10.0.0.0/8 172.16.0.0/12 192.168.0.0/16 fc00::/7"),
        ("an unspecified address", "0.0.0.0/8 ::/128"),
        ("a link-local address", "169.254.0.0/16 fe80::/10"),
        ("a site-local address", "fec0::/10"),
        ("a carrier's shared address", "100.64.0.0/10"),
        ("a multicast address", "224.0.0.0/4 ff00::/8"),
        ("an address for documentation", "192.0.2.0/24 198.51.100.0/24 203.0.113.0/24"),
        ("an address for documentation", "2001:db8::/32 3fff::/20"),
        ("an address for benchmarks", "198.18.0.0/15 2001:2::/48"),
        ("an address within another (IPv4-mapped)", "::ffff:0:0/96"),
        ("an address within another (IPv4-translated)", "::ffff:0:0:0/96"),
        ("an address within another (NAT64)", "64:ff9b::/96 64:ff9b:1::/48"),
        ("an address within another (6to4)", "2002::/16 192.88.99.0/24"),
        ("an address within another (Teredo)", "2001::/32"),
        ("an address within another (IPv4-compatible)", "::/96"),
        ("a reserved address", "192.0.0.0/24 192.31.196.0/24 192.52.193.0/24 192.175.48.0/24"),
        ("a reserved address", "240.0.0.0/4 2001::/23 2620:4f:8000::/48 3ffe::/16"),
    )
    for network in networks.split()
)


def refusal(address: Address, *, allow_local: bool = False) -> str | None:
    """Why no callback goes to this address, or None when it may."""
    reason = next((reason for network, reason in _REFUSED if address in network), None)
    if reason is None and isinstance(address, IPv6Address) and address not in _GLOBAL_V6:
        reason = "a reserved address"
    return None if allow_local and reason in LOCAL else reason
