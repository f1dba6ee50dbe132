"""The queue page in a real browser: order, privacy, a manager who reorders, the phone, the keyboard."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe

from tests.browser.conftest import Demo, Visit

pytestmark = pytest.mark.browser
WHOLE = {"flavor": "h100", "gpus": 1, "env": {"TURNO_SIM_SECONDS": "600"}}


@pytest.fixture(scope="module")
def waiting(demo: Demo) -> Iterator[dict[str, dict[str, Any]]]:
    """Data's card is taken; two of data and one of training wait."""
    runs = demo.training("ana", "holds-the-card", **WHOLE)
    demo.call("GET", f"/training-jobs/{runs['id']}/?wait=60&for=running", "ana")
    rows = {
        "older": demo.training("luis", "older", **WHOLE),
        "newer": demo.training("luis", "newer", **WHOLE),
        "theirs": demo.training("pablo", "not-for-others", **{**WHOLE, "gpus": 2}),
    }
    yield rows
    for username, row in (("ana", runs), ("luis", rows["older"]), ("luis", rows["newer"]), ("pablo", rows["theirs"])):
        demo.call("POST", f"/training-jobs/{row['id']}/stop/", username)


def test_a_manager_reorders_and_a_member_sees_it_without_a_reload(
    visit: Visit, demo: Demo, waiting: dict[str, dict[str, Any]]
) -> None:
    member = visit("luis", "/queue/")
    member.locator("tbody tr", has_text="newer").wait_for()
    member.locator("tbody tr", has_text="another team").first.wait_for()
    names = "#lines tbody tr.own a"
    first, second = member.locator(names).all_inner_texts()
    assert {first, second} == {"older", "newer"}
    assert member.locator("#lines select").count() == 0
    assert "not-for-others" not in member.content()

    page = visit("ana", "/queue/")
    page.get_by_label(f"Priority of {first}").select_option("low")
    page.wait_for_timeout(4500)  # a poll in between takes nothing of the choice back
    assert page.get_by_label(f"Priority of {first}").input_value() == "low"
    page.locator("tr", has_text=first).get_by_role("button", name="Change").press("Enter")
    page.get_by_role("status").get_by_text(f"{first} has priority low now").wait_for()
    page.locator(f"{names} >> nth=0", has_text=second).wait_for()
    assert "/queue/" in page.url
    member.locator(f"{names} >> nth=0", has_text=second).wait_for()


def test_it_works_without_scripts(visit: Visit, waiting: dict[str, dict[str, Any]]) -> None:
    page = visit("ana", "/queue/", script=False)
    page.get_by_label("Priority of older").select_option("normal")
    page.locator("tr", has_text="older").get_by_role("button", name="Change").click()
    assert "older has priority normal now" in page.content()


@pytest.mark.parametrize(("theme", "language", "width"), [("light", "en", 1280), ("dark", "es", 360)])
def test_it_reads_well(visit: Visit, waiting: dict[str, dict[str, Any]], theme: str, language: str, width: int) -> None:
    page = visit("ana", "/queue/", theme=theme, language=language, width=width)
    page.locator("tbody tr", has_text="newer").wait_for()
    assert Axe().run(page).response["violations"] == []
    assert page.evaluate("document.documentElement.scrollWidth - window.innerWidth") == 0
    low = "[...document.querySelectorAll('#lines button, #lines select')].filter(e => e.offsetHeight < 24).length"
    assert page.evaluate(low) == 0
