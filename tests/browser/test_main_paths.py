"""What people come for, from the form to the end, in a real browser on the real processes."""

from __future__ import annotations

import json
import re
import urllib.request
from typing import TYPE_CHECKING

import pytest

from tests.browser.conftest import Demo, Visit

if TYPE_CHECKING:
    from playwright.sync_api import Page

pytestmark = pytest.mark.browser


def becomes(page: Page, word: str, within: float = 40) -> None:
    """Waits until the page itself, without a reload, shows this state."""
    page.locator("#live .state-large", has_text=re.compile(f"^{word}$")).wait_for(timeout=within * 1000)


def test_a_training_job_from_the_form_to_its_log(visit: Visit) -> None:
    page = visit("luis", "/new/training/")
    page.fill("#id_description", "Fine-tune the invoice model")
    assert page.input_value("#id_name") == "fine-tune-the-invoice-model"
    page.check("input[name=flavor][value=h100-1g]")
    page.select_option("#id_image", "python")
    page.fill("#id_command", "python train.py --epochs 3")
    page.get_by_text("Everything reads well.").wait_for()
    page.get_by_role("button", name="Submit the job").click()
    page.wait_for_url(re.compile("/workloads/[0-9a-f-]{36}/$"))
    becomes(page, "Running")
    page.locator("#log").filter(has_text=re.compile(r"\w")).wait_for()
    becomes(page, "Finished")
    assert "Finished with exit code 0." in page.inner_text("#live")
    assert "h100-1g" in page.inner_text("#details")


def test_the_story_is_turnos_own_until_the_clusters_words_are_asked_for(visit: Visit, demo: Demo) -> None:
    row = demo.training("luis", "told", env={"TURNO_SIM_SECONDS": "8"})
    page = visit("luis", f"/workloads/{row['id']}/")
    page.locator(".from-cluster").first.wait_for(state="attached")
    assert page.locator(".from-cluster:visible").count() == 0
    page.get_by_label("Also what the cluster itself reported").check()
    page.locator(".from-cluster:visible").first.wait_for()
    becomes(page, "Finished")
    assert page.locator(".from-cluster:visible").count() > 0, "the choice outlives the page's updates"


def test_a_notebook_opens_stops_and_starts_again(visit: Visit) -> None:
    page = visit("sofia", "/new/notebook/")
    page.fill("#id_name", "explore")
    page.check("input[name=flavor][value=h100-1g]")
    page.get_by_role("button", name="Start the notebook").click()
    becomes(page, "Running")
    with page.expect_popup() as opened:
        page.get_by_role("link", name="Open the notebook").click()
    notebook = opened.value
    notebook.wait_for_load_state()
    assert ".localhost" in notebook.url
    assert "explore" in notebook.content()
    page.get_by_role("button", name="Stop").click()
    becomes(page, "Stopped")
    page.get_by_role("button", name="Start").click()
    becomes(page, "Running")
    assert page.locator("#details tbody tr").count() == 2
    page.get_by_text("Delete…").click()
    page.get_by_role("button", name="Delete it").click()
    page.wait_for_url(re.compile("/workloads/$"))


def test_an_endpoint_answers_the_example_call(visit: Visit) -> None:
    page = visit("marta", "/new/endpoint/")
    page.fill("#id_name", "summaries")
    page.fill("#id_model", "org/small-model")
    page.check("input[name=flavor][value=h100-1g]")
    page.get_by_role("button", name="Serve the model").click()
    becomes(page, "Running")
    address = page.inner_text("#endpoint-url")
    page.get_by_role("link", name="Show the key").click()
    key = page.inner_text("#endpoint-key")
    request = urllib.request.Request(
        f"{address}/chat/completions",
        data=json.dumps({"model": "org/small-model", "messages": [{"role": "user", "content": "Hello"}]}).encode(),
        headers={"Authorization": f"Bearer {key}", "Content-Type": "application/json"},
    )
    with urllib.request.urlopen(request, timeout=10) as answer:
        assert json.loads(answer.read())["choices"]


def test_waiting_is_told_with_a_ticket(visit: Visit, demo: Demo) -> None:
    whole = {"flavor": "h100", "gpus": 2, "env": {"TURNO_SIM_SECONDS": "60"}}
    first = demo.training("pablo", "goes-first", **whole)
    demo.call("GET", f"/training-jobs/{first['id']}/?wait=60&for=running", "pablo")
    second = demo.training("pablo", "waits", **whole)
    page = visit("pablo", f"/workloads/{second['id']}/")
    becomes(page, "In the queue")
    page.locator(".ticket-number", has_text="1").wait_for()
    page.locator("#live", has_text="Waiting for quota").wait_for()
    demo.call("POST", f"/training-jobs/{first['id']}/stop/", "pablo")
    becomes(page, "Running")


def test_a_double_click_makes_one(visit: Visit, demo: Demo) -> None:
    page = visit("luis", "/new/training/")
    page.fill("#id_name", "clicked-twice")
    page.check("input[name=flavor][value=h100-1g]")
    page.select_option("#id_image", "python")
    page.get_by_role("button", name="Submit the job").dblclick(no_wait_after=True)
    page.wait_for_url(re.compile("/workloads/[0-9a-f-]{36}/$"))
    assert len(demo.call("GET", "/workloads/?q=clicked-twice", "luis")["results"]) == 1


def test_an_error_is_shown_at_its_field_while_typing_and_folds_stay_open(visit: Visit) -> None:
    page = visit("luis", "/new/notebook/")
    page.get_by_text("The same as curl").click()
    page.fill("#id_name", "typed")
    page.fill("#id_cpu", "4 cores")
    page.locator("#error-cpu", has_text="Use cores").wait_for()
    assert page.get_attribute("#id_cpu", "aria-invalid") == "true"
    assert page.locator("#curl-text").is_visible()
    page.fill("#id_cpu", "4")
    page.locator("#error-cpu svg").wait_for(state="detached")
    assert page.get_attribute("#id_cpu", "aria-invalid") is None


def test_more_rows_of_variables_can_be_added(visit: Visit, demo: Demo) -> None:
    page = visit("luis", "/new/training/")
    page.fill("#id_name", "with-variables")
    page.select_option("#id_image", "python")
    page.check("input[name=flavor][value=h100-1g]")
    group = page.locator("#field-env")
    for name, value in (("A", "one\ntwo "), ("B", "$HOME")):
        group.locator("[name=env_name]").last.fill(name)
        group.locator("[name=env_value]").last.fill(value)
        group.get_by_role("button", name="One more").click()
    page.get_by_role("button", name="Submit the job").click()
    page.wait_for_url(re.compile("/workloads/[0-9a-f-]{36}/$"))
    row = demo.call("GET", f"/training-jobs/{page.url.rstrip('/').split('/')[-1]}/", "luis")
    assert row["env"] == {"A": "one\ntwo ", "B": "$HOME"}


def test_everything_works_without_script(visit: Visit) -> None:
    page = visit("ana", "/new/training/", script=False)
    page.fill("#id_name", "plain-html")
    page.check("input[name=flavor][value=h100-1g]")
    page.select_option("#id_image", "python")
    page.fill("#id_cpu", "lots")
    page.get_by_role("button", name="Submit the job").click()
    assert "Use cores" in page.inner_text("#error-cpu")
    page.fill("#id_cpu", "1")
    page.get_by_role("button", name="Submit the job").click()
    page.wait_for_url(re.compile("/workloads/[0-9a-f-]{36}/$"))
    page.get_by_role("button", name="Stop").click()
    assert "It stops" in page.inner_text("#messages")
    page.goto("/")
    page.locator(".who summary").click()
    page.get_by_role("button", name="Dark").click()
    assert page.get_attribute("html", "data-theme") == "dark"


def test_the_keyboard_reaches_the_content_first(visit: Visit) -> None:
    page = visit("luis", "/workloads/")
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.className") == "skip"
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.id") == "main"


def test_signing_out_elsewhere_leads_a_live_page_to_the_sign_in(visit: Visit, demo: Demo) -> None:
    page = visit("vera", "/")
    other = page.context.new_page()
    other.goto("/")
    other.locator(".who summary").click()
    other.get_by_role("button", name="Sign out").click()
    other.wait_for_url(re.compile("/login/"))
    page.bring_to_front()
    page.wait_for_url(re.compile("/login/"), timeout=15_000)
