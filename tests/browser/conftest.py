"""The real API on loopback, and the machine's own Chromium to look at its pages."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest
from playwright.sync_api import Browser, expect, sync_playwright

from tests.contract.gateway import Gateway, served
from tests.unit.functions.api_world import ApiWorld
from tests.unit.functions.conftest import logged

__all__ = ["logged"]

# A page draws a large document: on a busy machine that takes longer than Playwright's 5 s.
expect.set_options(timeout=60_000)

CHROMIUM: Final = Path("/usr/bin/chromium")
FLAGS: Final = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """One headless browser for all tests of a process."""
    if not CHROMIUM.exists():
        why = f"{CHROMIUM} is missing: apt-get install --no-install-recommends chromium"
        if os.environ.get("CI") == "true":
            pytest.fail(why)
        pytest.skip(why)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=CHROMIUM, headless=True, args=list(FLAGS), timeout=180_000
        )
        yield browser
        browser.close()


@pytest.fixture
def address(logged: object) -> Iterator[str]:
    """Where the API answers."""
    api = ApiWorld()
    with served(
        Gateway(lambda _: {"context": {}}, lambda event: api.api.answer(event, None))
    ) as url:
        yield url
