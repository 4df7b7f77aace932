"""The page at /docs, in a real browser."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page, expect

from taskgate.routes import ROUTES

pytestmark = pytest.mark.xdist_group("browser")

DESK = {"width": 1280, "height": 900}
PHONE = {"width": 390, "height": 844}


@pytest.fixture
def said() -> list[str]:
    """What the page wrote to the console, and what it failed to do."""
    return []


@pytest.fixture(params=[DESK, PHONE], ids=["at a desk", "on a phone"])
def page(
    request: pytest.FixtureRequest, browser: Browser, address: str, said: list[str]
) -> Iterator[Page]:
    """The page as it is once it has drawn the document."""
    context = browser.new_context(viewport=request.param)
    page = context.new_page()
    page.set_default_timeout(120_000)
    page.on("console", lambda message: said.append(message.text))
    page.on("pageerror", lambda error: said.append(str(error)))
    page.on("requestfailed", lambda failed: said.append(failed.url))
    page.goto(f"{address}/docs")
    expect(page.locator("#problems")).to_be_visible()
    yield page
    context.close()


def test_the_page_draws_every_route_without_a_word_on_the_console(
    page: Page, said: list[str]
) -> None:
    drawn = {
        (section.locator(".method").inner_text(), section.locator(".path").inner_text())
        for section in page.locator("main > section:has(.method)").all()
    }
    assert drawn == {(route.method, route.path) for route in ROUTES}
    assert said == []


def test_nothing_is_wider_than_the_screen(page: Page) -> None:
    for details in page.locator("details").all():
        details.evaluate("it => { it.open = true }")
    wide, screen = page.evaluate("[document.documentElement.scrollWidth, window.innerWidth]")
    assert wide <= screen


def test_an_example_of_an_answer_is_unfolded_by_a_click(page: Page) -> None:
    example = page.locator("#getStatus details").first
    expect(example.locator("pre")).to_be_hidden()
    example.locator("summary").click()
    expect(example.locator("pre")).to_be_visible()
    expect(example.locator("pre")).to_contain_text('"state": "processing"')


def test_a_link_to_a_schema_unfolds_it_where_it_stands(page: Page) -> None:
    page.locator("#getStatus").get_by_role("link", name="Status", exact=True).click()
    expect(page.locator("#schema-Status table")).to_be_in_viewport()


def test_a_field_that_may_be_null_says_what_it_means(page: Page) -> None:
    field = page.locator("#submitTask tr", has=page.get_by_text("run_at", exact=True)).first
    expect(field).to_contain_text("When to start: RFC 3339")


def test_each_problem_says_what_to_do_about_it(page: Page) -> None:
    assert page.locator("#problems th").all_inner_texts()[-1].lower() == "what to do"
    expect(page.locator("#lane_full td").last).to_contain_text("wait Retry-After seconds")
    page.locator("#lane_full").scroll_into_view_if_needed()
    expect(page.locator("#lane_full td").last).to_be_in_viewport(ratio=1)
    for told in page.locator("#problems tbody tr td:last-child").all():
        expect(told).not_to_be_empty()


def test_every_route_can_be_reached_from_the_contents(page: Page) -> None:
    if page.locator("nav summary").is_visible():
        page.locator("nav summary").click()
    page.locator("nav").get_by_role("link", name="Your books").click()
    expect(page.locator("#getStats h2")).to_be_in_viewport()
    links = page.locator("nav a[href^='#']").all()
    targets = [link.get_attribute("href") or "#" for link in links]
    assert all(page.locator(target).count() == 1 for target in targets)
    assert len(links) == len(ROUTES) + 2
