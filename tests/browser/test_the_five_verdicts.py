"""The preview beside the form, in each of its five verdicts, in the words that a person reads."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pytest

from tests.browser.conftest import Demo, Visit

if TYPE_CHECKING:
    from playwright.sync_api import Page

pytestmark = pytest.mark.browser
MANAGERS = ("marta", "ana", "sofia")
OVER = ("stopped", "succeeded", "failed", "deleting")
WHOLE = {"flavor": "h100", "env": {"TURNO_SIM_SECONDS": "600"}}


@pytest.fixture
def quiet(demo: Demo) -> Iterator[None]:
    """Nobody holds a whole card or waits for one, before and after; and the cluster is furnished and known."""
    free_the_cards(demo)
    ends = time.monotonic() + 60
    while (told := verdict_of(demo)) != "starts_now":
        assert time.monotonic() < ends, told
        time.sleep(0.5)
    yield
    free_the_cards(demo)


def verdict_of(demo: Demo) -> str | None:
    """What the preview says of one whole card for the team `data`."""
    body = {"tenant": "data", "name": "just-asking", "flavor": "h100", "gpus": 1, "cpu": "1", "memory": "1Gi"}
    body |= {"image": "python", "framework": "job", "command": ["true"]}
    preview = demo.call("POST", "/training-jobs/?dry_run=true", "luis", body)["preview"]
    return str(preview["verdict"]) if preview else None


def free_the_cards(demo: Demo) -> None:
    for username in MANAGERS:
        rows = demo.call("GET", "/workloads/?flavor=h100", username)["results"]
        live = [row for row in rows if row["state"] not in OVER]
        for row in live:
            demo.call("POST", f"{path(row)}stop/", username)
        for row in live:
            demo.call("GET", f"{path(row)}?wait=60&for=finished", username)


def path(row: dict[str, Any]) -> str:
    return str(row["url"]).partition("/api/v1")[2]


def runs(demo: Demo, username: str, name: str, gpus: int) -> None:
    """A job that holds whole cards for ten minutes."""
    row = demo.training(username, name, **WHOLE, gpus=gpus)
    demo.call("GET", f"/training-jobs/{row['id']}/?wait=60&for=running", username)


def asked(page: Page, gpus: int) -> None:
    page.check("input[name=flavor][value=h100]")
    page.fill("#id_gpus", str(gpus))
    page.select_option("#id_image", "python")
    page.fill("#id_command", "python train.py")


def outlook(page: Page, verdict: str) -> str:
    """What is said once the check has come to this verdict."""
    page.locator(f"#outlook[data-verdict={verdict}]").wait_for()
    return page.inner_text("#check")


def test_it_starts_now(visit: Visit, quiet: None) -> None:
    page = visit("luis", "/new/training/")
    asked(page, 1)
    assert "It starts now. Free for your team: 1 of h100." in outlook(page, "starts_now")
    assert page.locator("button[name=instead]:visible").count() == 0


def test_it_borrows_and_can_be_taken_back(visit: Visit, quiet: None) -> None:
    page = visit("pablo", "/new/training/")
    asked(page, 2)
    said = outlook(page, "borrows")
    assert "It starts now with GPUs of other teams: another team with 1 GPU." in said
    assert "They can be taken back, and then it waits again." in said


def test_it_takes_the_place_of_other_work(visit: Visit, demo: Demo, quiet: None) -> None:
    runs(demo, "pablo", "guest-on-two-cards", 2)
    page = visit("luis", "/new/training/")
    asked(page, 1)
    said = outlook(page, "preempts")
    assert "It starts by taking the place of other work: another team with 2 GPU, priority 100." in said
    assert "That work waits in the queue again." in said
    assert "guest-on-two-cards" not in page.content()


def test_it_waits_and_another_card_is_one_click_away(visit: Visit, demo: Demo, quiet: None) -> None:
    runs(demo, "ana", "has-the-card", 1)
    page = visit("luis", "/new/training/")
    asked(page, 1)
    said = outlook(page, "waits")
    assert "It waits, as number 1 in your team's queue." in said
    assert "This would start now instead:" in said
    page.get_by_role("button", name="Card: h100-1g").click()
    page.wait_for_load_state()
    assert page.is_checked("input[name=flavor][value=h100-1g]")
    assert "It starts now." in outlook(page, "starts_now")


def test_it_can_never_run_and_says_which_limit(visit: Visit, quiet: None) -> None:
    page = visit("luis", "/new/training/")
    asked(page, 3)
    said = outlook(page, "never")
    assert "It can never run:" in said
    assert "at most 1" in said
    page.get_by_role("button", name="GPUs per node: 1").click()
    page.wait_for_load_state()
    assert page.input_value("#id_gpus") == "1"


def test_the_page_of_what_waits_offers_the_same_as_buttons(visit: Visit, demo: Demo, quiet: None) -> None:
    runs(demo, "ana", "has-the-card-again", 1)
    row = demo.training("luis", "waits-for-it", **WHOLE, gpus=1)
    page = visit("luis", f"/workloads/{row['id']}/")
    page.get_by_role("link", name="Card: h100-1g").click()
    page.wait_for_url("**/new/training/?like=*")
    assert page.input_value("#id_name") == "waits-for-it-2"
    assert page.is_checked("input[name=flavor][value=h100-1g]")
    outlook(page, "starts_now")
