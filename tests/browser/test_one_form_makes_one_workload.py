"""A form is sent by impatient people over slow and broken connections: it makes one workload all the same."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

from tests.browser.conftest import Demo, Visit

if TYPE_CHECKING:
    from playwright.sync_api import Page, Route

pytestmark = pytest.mark.browser
ITS_PAGE = re.compile("/workloads/[0-9a-f-]{36}/$")


def filled(visit: Visit, name: str, **options: bool) -> Page:
    page = visit("luis", "/new/training/", **options)
    page.fill("#id_name", name)
    page.check("input[name=flavor][value=h100-1g]")
    page.select_option("#id_image", "python")
    return page


def made(demo: Demo, name: str) -> int:
    return len(demo.call("GET", f"/workloads/?q={name}", "luis")["results"])


# What the person does while the first request is still under way; a page that is being left cannot be asked.
CLICKS = """() => setTimeout(() => {
    const button = [...document.querySelectorAll('.form-foot button')].at(-1);
    sessionStorage.setItem('seen', `${button.className} ${button.getAttribute('aria-disabled')}`);
    for (let n = 0; n < 5; n++) button.click();
}, 500)"""


def test_enter_and_five_clicks_on_a_slow_link(visit: Visit, demo: Demo) -> None:
    page = filled(visit, "in-a-hurry")
    sent: list[Route] = []

    def slow(route: Route) -> None:
        if route.request.method == "POST" and route.request.is_navigation_request():
            sent.append(route)
        else:
            route.continue_()

    page.route("**/new/training/", slow)
    page.evaluate(CLICKS)
    page.press("#id_name", "Enter", no_wait_after=True)
    page.wait_for_timeout(3000)
    for route in sent:
        route.continue_()
    page.wait_for_url(ITS_PAGE)
    assert len(sent) == 1
    assert page.evaluate("sessionStorage.getItem('seen')").endswith(" busy true")
    assert made(demo, "in-a-hurry") == 1


def test_an_answer_that_never_came_is_asked_for_again(visit: Visit, demo: Demo) -> None:
    page = filled(visit, "cut-off")
    cut: list[str] = []

    def lose_the_answer(route: Route) -> None:
        if route.request.method == "POST" and route.request.is_navigation_request() and not cut:
            cut.append(str(route.fetch(max_redirects=0).status))  # it arrived, and was done
            route.abort("connectionreset")
        else:
            route.continue_()

    page.route("**/new/training/", lose_the_answer)
    page.locator(".form-foot button").last.click(no_wait_after=True)
    page.wait_for_timeout(1500)
    assert cut == ["302"]
    page.reload()
    page.wait_for_url(ITS_PAGE)
    assert made(demo, "cut-off") == 1


def test_a_double_click_without_script(visit: Visit, demo: Demo) -> None:
    page = filled(visit, "no-script-twice", script=False)
    page.locator(".form-foot button").last.dblclick(no_wait_after=True)
    page.wait_for_url(ITS_PAGE)
    assert made(demo, "no-script-twice") == 1
