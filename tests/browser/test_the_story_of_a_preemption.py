"""Whose place was taken reads by whom, by which rule and how much work it cost; who waits reads who holds the quota."""

from __future__ import annotations

import time
import urllib.request
from collections.abc import Iterator
from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe

from tests.browser.conftest import Demo, Visit

pytestmark = pytest.mark.browser
MINUTES = {"flavor": "h100", "env": {"TURNO_SIM_SECONDS": "120"}}


@pytest.fixture(scope="module")
def rows(demo: Demo) -> Iterator[dict[str, dict[str, Any]]]:
    """Training's `guest` ran on its own card and on one of data's, until data's `owner` took that back."""
    guest = demo.training("pablo", "guest-with-checkpoints", **MINUTES, gpus=2)
    demo.call("GET", f"/training-jobs/{guest['id']}/?wait=60&for=running", "pablo")
    ends = time.monotonic() + 90
    while "turno: checkpoint" not in log(demo, guest):
        assert time.monotonic() < ends, "no checkpoint in the log"
        time.sleep(1)
    owner = demo.training("luis", "takes-its-own-back", **MINUTES)
    demo.call("GET", f"/training-jobs/{owner['id']}/?wait=60&for=running", "luis")
    behind = demo.training("luis", "behind-the-owner", **MINUTES)
    yield {"guest": guest, "owner": owner, "behind": behind}
    for username, row in (("luis", behind), ("luis", owner), ("pablo", guest)):
        demo.call("POST", f"/training-jobs/{row['id']}/stop/", username)


def log(demo: Demo, row: dict[str, Any]) -> str:
    headers = {"Authorization": f"Bearer {demo.users['pablo']['token']}"}
    request = urllib.request.Request(f"{demo.url}/api/v1/training-jobs/{row['id']}/logs/", headers=headers)
    with urllib.request.urlopen(request, timeout=30) as answer:
        return str(answer.read().decode())


@pytest.mark.parametrize(("language", "width", "said"), [("en", 1280, "checkpoint"), ("es", 360, "punto de control")])
def test_the_workload_says_who_took_its_place_and_what_it_cost(
    visit: Visit, rows: dict[str, dict[str, Any]], language: str, width: int, said: str
) -> None:
    page = visit("pablo", f"/workloads/{rows['guest']['id']}/", language=language, width=width)
    story = page.locator("#taken")
    story.get_by_text(said).wait_for()
    assert "takes-its-own-back" not in page.content()
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert Axe().run(page).response["violations"] == []


def test_the_team_page_tells_it_too(visit: Visit, rows: dict[str, dict[str, Any]]) -> None:
    page = visit("sofia", "/teams/training/")
    page.get_by_text("guest-with-checkpoints").first.wait_for()
    assert "checkpoint" in page.content()


def test_who_waits_reads_who_holds_the_quota(visit: Visit, rows: dict[str, dict[str, Any]]) -> None:
    page = visit("luis", f"/workloads/{rows['behind']['id']}/")
    held = page.get_by_text("Held now by:")
    held.wait_for()
    assert "data, 1 GPU, for" in held.inner_text()
