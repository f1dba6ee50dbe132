"""Every page, wide and narrow, light and dark, in both languages: no fault for a reader, no sideways scrolling."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest
from axe_playwright_python.sync_playwright import Axe

from tests.browser.conftest import Demo, Visit

if TYPE_CHECKING:
    from playwright.sync_api import Page

pytestmark = pytest.mark.browser
PAGES = (
    "/",
    "/workloads/",
    "/queue/",
    "/new/notebook/",
    "/new/training/",
    "/new/endpoint/",
    "/teams/data/",
    "/tokens/",
    "/password/",
)
LONG = "n" + "x" * 62


@pytest.fixture(scope="module")
def finished(demo: Demo) -> str:
    """The page of a job with the longest name there can be, and a command that does not fit."""
    row = demo.training("ana", LONG, command=["python", "y" * 300], env={"TURNO_SIM_SECONDS": "1", "LONG": "z" * 300})
    demo.call("GET", f"/training-jobs/{row['id']}/?wait=40&for=finished", "ana")
    return f"/workloads/{row['id']}/"


def faults(page: Page) -> list[str]:
    found = Axe().run(page)
    return [f"{fault['id']}: {[node['target'] for node in fault['nodes']]}" for fault in found.response["violations"]]


def sideways(page: Page) -> int:
    return int(page.evaluate("document.documentElement.scrollWidth - window.innerWidth"))


def small_targets(page: Page) -> list[str]:
    """Buttons and lone links of less than 24 pixels; links inside a sentence are as high as their line."""
    return list(
        page.evaluate(
            """[...document.querySelectorAll('button, summary, .button, .nav a, select, input:not([type=hidden])')]
            .filter(e => e.checkVisibility() && e.getBoundingClientRect().width)
            .filter(e => !e.closest('label.card-choice, label.check, .skip'))
            .filter(e => e.getBoundingClientRect().height < 24 || e.getBoundingClientRect().width < 24)
            .map(e => e.outerHTML.slice(0, 80))"""
        )
    )


@pytest.mark.parametrize(("theme", "language"), [("light", "en"), ("dark", "es")])
def test_no_fault_for_a_screen_reader(visit: Visit, finished: str, theme: str, language: str) -> None:
    page = visit("ana", "/", theme=theme, language=language)
    found = {}
    for path in (*PAGES, finished):
        page.goto(path)
        page.wait_for_timeout(400)
        for fold in page.locator("summary").all():
            if fold.is_visible():
                fold.click()
        found[path] = faults(page)
    assert {path: said for path, said in found.items() if said} == {}
    assert faults(visit(None, "/login/", theme=theme, language=language)) == []


@pytest.mark.parametrize("width", [360, 640, 768, 1024])  # 640: what zooming to 200 % leaves of 1280
@pytest.mark.parametrize(("theme", "language"), [("light", "es"), ("dark", "en")])
def test_nothing_scrolls_sideways(visit: Visit, finished: str, width: int, theme: str, language: str) -> None:
    page = visit("ana", "/", width=width, theme=theme, language=language)
    found = {}
    for path in (*PAGES, finished):
        page.goto(path)
        page.wait_for_timeout(300)
        found[path] = (sideways(page), small_targets(page))
    assert {path: said for path, said in found.items() if said != (0, [])} == {}


def test_a_refused_form_brings_its_first_error_into_view(visit: Visit) -> None:
    page = visit("ana", "/new/training/", width=360, language="es")
    page.fill("#id_memory", "8GB")
    page.fill("#id_name", "corto")
    page.locator(".form-foot button").click()
    page.locator("#error-memory svg").wait_for()
    assert page.evaluate("document.activeElement.id") == "id_memory"
    assert page.locator("#error-memory").evaluate("e => e.getBoundingClientRect().top < innerHeight")
    assert sideways(page) == 0


def test_numbers_and_times_on_the_page_are_told_in_the_persons_zone(visit: Visit, finished: str) -> None:
    page = visit("ana", finished)
    assert "CET" in page.inner_text("#timeline")
    stamps = page.locator("time").evaluate_all("all => all.map(e => e.getAttribute('datetime'))")
    assert stamps
    assert all(stamp.endswith("Z") for stamp in stamps)


def test_text_of_twice_the_size_needs_no_more_than_the_window(visit: Visit, finished: str) -> None:
    page = visit("ana", "/")
    sizes = {"fontSizes": {"standard": 32, "fixed": 26}}
    page.context.new_cdp_session(page).send("Page.setFontSizes", sizes)
    found = {}
    for path in (*PAGES, finished):
        page.goto(path)
        page.wait_for_timeout(300)
        found[path] = sideways(page)
    assert page.evaluate("getComputedStyle(document.documentElement).fontSize") == "32px"
    assert {path: wide for path, wide in found.items() if wide} == {}


def test_forty_rows_of_variables_leave_every_button_in_reach(visit: Visit) -> None:
    page = visit("ana", "/new/training/", width=360)
    rows = page.locator("#field-env [name=env_name]")
    while rows.count() < 40:
        page.locator("#field-env").get_by_role("button", name="One more").click()
    rows.last.fill("LAST_" + "X" * 50)
    assert sideways(page) == 0
    button = page.locator(".form-foot button").last
    button.scroll_into_view_if_needed()
    assert button.evaluate("e => { const b = e.getBoundingClientRect(); return b.top >= 0 && b.bottom <= innerHeight }")


@pytest.mark.parametrize("minutes", [10, -10])
def test_ages_do_not_go_by_the_viewers_clock(visit: Visit, finished: str, minutes: int) -> None:
    told = []
    for wrong_by in (0, minutes):
        page = visit("ana", "/")
        page.clock.set_system_time(page.evaluate("Date.now()") + wrong_by * 60_000)
        page.goto(finished)
        page.wait_for_timeout(1500)
        told.append(page.inner_text("main"))
    assert not re.search(r"(?<!\w)-\d|\bin \d+ (s|min)", told[1])
    assert ages(told[0]) == ages(told[1])


def ages(text: str) -> list[str]:
    """Whatever is told in hours and minutes: seconds go on while one looks."""
    return re.findall(r"\d+ (?:min|h|d)\b|\d\d:\d\d\b", text)
