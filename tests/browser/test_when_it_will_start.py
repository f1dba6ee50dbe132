"""The likely start on the page of what waits and in the queue, as a person reads it, in both languages."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.browser.conftest import Demo, Visit

pytestmark = pytest.mark.browser
WHOLE = {"flavor": "h100", "gpus": 1, "env": {"TURNO_SIM_SECONDS": "600"}, "max_duration": 900}


@pytest.fixture(scope="module")
def waits(demo: Demo) -> Iterator[dict[str, Any]]:
    """One of luis, behind a card that is held for a quarter of an hour at most."""
    runs = demo.training("ana", "holds-for-a-while", **WHOLE)
    demo.call("GET", f"/training-jobs/{runs['id']}/?wait=60&for=running", "ana")
    row = demo.training("luis", "wants-to-know-when", **WHOLE)
    yield row
    for username, one in (("luis", row), ("ana", runs)):
        demo.call("POST", f"/training-jobs/{one['id']}/stop/", username)


@pytest.mark.parametrize(
    ("language", "width", "said"), [("en", 1280, "in 9 of 10 cases"), ("es", 360, "en 9 de cada 10 casos")]
)
def test_it_says_by_when_and_needs_no_more_room_than_a_phone_has(
    visit: Visit, waits: dict[str, Any], language: str, width: int, said: str
) -> None:
    page = visit("luis", f"/workloads/{waits['id']}/", language=language, width=width)
    page.locator("[data-likely=known]", has_text=said).wait_for(timeout=60_000)
    page.goto("/queue/")
    page.locator("tr.own", has_text="wants-to-know-when").get_by_text(said).wait_for()
    assert page.evaluate("document.documentElement.scrollWidth") <= width
