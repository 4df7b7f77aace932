"""How the receivers of callbacks do: for operators, and for those who look after a tenant."""

from __future__ import annotations

from typing import Final

from taskgate.ports import Page, Ports
from taskgate.principal import Principal
from taskgate.receivers import Unwell

PAGE: Final = 100
MOST_STEPS: Final = 20
"""Steps of the scan that one page may take, each of a megabyte at most."""


def unwell_receivers(
    ports: Ports, who: Principal, limit: int = PAGE, start: str | None = None
) -> Page[Unwell]:
    """Receivers that show signs of illness: those of every tenant for an operator, else one's own.

    A page is short when looking for more would take too long; only the last one has no `next`.
    """
    who.require("admin")
    tenant = None if "operator" in who.scopes else who.owner.tenant
    found: list[Unwell] = []
    for _ in range(MOST_STEPS):
        page = ports.receivers.unwell(limit - len(found), start, tenant)
        found, start = [*found, *page.rows], page.next
        if start is None or len(found) >= limit:
            break
    return Page(found, start)
