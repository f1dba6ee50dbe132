"""Every page, wide and narrow, light and dark, in both languages: no fault for a reader, no sideways scrolling."""

from __future__ import annotations

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


@pytest.mark.parametrize("width", [360, 768, 1024])
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
