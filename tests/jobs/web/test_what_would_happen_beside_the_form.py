"""The preview beside the form and the explanation on the page: a sentence, its numbers, one click to ask otherwise."""

from __future__ import annotations

import html
import json
import re
from typing import Any

import pytest
from django.test import Client

from jobs.models import Workload
from jobs.web.outlook import choice, outlook
from portal.kernel.actors import Person
from quotas.models import Cohort, Quota
from tenants.models import Tenant
from tests.factories import quotas as quota_rows
from tests.factories import tenants as people
from tests.factories.quotas import Lab
from tests.jobs.stage import Stage

pytestmark = pytest.mark.django_db
LONG = {"TURNO_SIM_SECONDS": "600"}
FORM = {
    "tenant": "data",
    "name": "tune",
    "flavor": "h100",
    "gpus": "1",
    "cpu": "2",
    "memory": "8Gi",
    "framework": "job",
    "nodes": "1",
    "image": "pytorch",
    "command": "python train.py",
}


@pytest.fixture
def visitor(stage: Stage, owner: Person) -> Client:
    return people.signed_in(owner)


def check(visitor: Client, **changed: Any) -> str:
    return html.unescape(visitor.post("/new/training/check/", {**FORM, **changed}).content.decode())


def verdict(page: str) -> str:
    found = re.search(r'data-verdict="(\w+)"', page)
    return found[1] if found else ""


def proposed(page: str) -> list[dict[str, Any]]:
    return [json.loads(value) for value in re.findall(r'name="instead" value="(\{.*?\})"', page)]


def test_what_fits_starts_now_and_says_how_much_is_free(visitor: Client) -> None:
    page = check(visitor)
    assert verdict(page) == "starts_now"
    assert "It starts now. Free for your team: 1 of h100." in page
    assert "As the cluster was" in page


def test_what_waits_says_its_place_and_who_is_before_it(stage: Stage, visitor: Client, owner: Person) -> None:
    for name in ("first", "second"):
        stage.submit(owner, name=name, env=LONG, flavor="h100")
    page = check(visitor)
    assert verdict(page) == "waits"
    assert "It waits, as number 2 in your team's queue." in page
    assert "Before it: data with 1 GPU, priority 100." in page


def test_what_is_borrowed_says_from_whom_as_far_as_the_reader_may_know(
    stage: Stage, room: Lab, visitor: Client, owner: Person, other_team: Tenant
) -> None:
    quota_rows.room_for(other_team, room, borrowing=None)
    Quota.objects.update(borrowing_limit=None)
    stage.furnish()
    stage.submit(owner, name="first", env=LONG, flavor="h100")
    page = check(visitor)
    assert verdict(page) == "borrows"
    assert "another team with 1 GPU" in page
    assert "vision" not in page
    Cohort.objects.update(show_teams=True)
    assert "vision with 1 GPU" in check(visitor)


def test_taking_a_place_says_whose(stage: Stage, visitor: Client, owner: Person) -> None:
    stage.submit(owner, name="humble", env=LONG, flavor="h100", priority="low")
    page = check(visitor)
    assert verdict(page) == "preempts"
    assert "data with 1 GPU, priority 10" in page


def test_what_can_never_run_says_which_limit(visitor: Client) -> None:
    page = check(visitor, gpus="3")
    assert verdict(page) == "never"
    assert "It can never run:" in page
    assert "It would be accepted" not in page
    assert proposed(page) == [{"gpus": 1}]


def test_only_the_name_may_still_be_missing(visitor: Client) -> None:
    assert verdict(check(visitor, name="")) == "starts_now"
    assert verdict(check(visitor, name="", cpu="lots")) == ""
    assert verdict(check(visitor, name="Not A Name")) == ""


def test_one_click_fills_the_form_and_sends_nothing(stage: Stage, visitor: Client, owner: Person) -> None:
    stage.submit(owner, name="first", env=LONG, flavor="h100")
    offers = proposed(check(visitor))
    assert {"flavor": "h100-1g"} in offers
    assert len(offers) <= 3
    answer = visitor.post("/new/training/", {**FORM, "instead": json.dumps({"flavor": "h100-1g"})})
    page = html.unescape(answer.content.decode())
    assert answer.status_code == 200
    assert re.search(r'value="h100-1g"[^>]* checked', page)
    assert verdict(page) == "starts_now"
    assert "python train.py" in page
    assert Workload.objects.count() == 1


@pytest.mark.parametrize("sent", ["", "no json", "[1]", '{"tenant": "vision"}', '{"gpus": {"a": 1}}'])
def test_a_click_that_is_no_change_of_ours_fills_nothing_in(visitor: Client, sent: str) -> None:
    answer = visitor.post("/new/training/", {**FORM, "instead": sent})
    page = html.unescape(answer.content.decode())
    assert answer.status_code == 200
    assert verdict(page) == "starts_now"
    assert not Workload.objects.exists()


def test_the_verdicts_are_spoken_in_spanish(visitor: Client) -> None:
    visitor.post("/preferences/", {"language": "es"})
    assert "Empieza ahora. Libres para tu equipo: 1 de h100." in check(visitor)
    assert "No podrá ejecutarse nunca:" in check(visitor, gpus="3")


def test_the_page_of_what_waits_says_who_is_before_it_and_what_would_start(
    stage: Stage, visitor: Client, owner: Person
) -> None:
    for name in ("first", "second"):
        stage.submit(owner, name=name, env=LONG, flavor="h100")
    stage.clock.move(seconds=1)
    row = stage.submit(owner, name="third", env=LONG, flavor="h100")
    stage.run(2)
    page = html.unescape(visitor.get(f"/workloads/{row.pk}/").content.decode())
    assert "Before it: data with 1 GPU, priority 100." in page
    assert "data, 1 GPU, for" in page
    assert "This would start now instead:" in page
    assert ">Card: h100-1g</a>" in page
    assert "Your team's manager can help" in page


def test_that_it_can_never_run_is_told_before_it_has_a_name(stage: Stage, visitor: Client) -> None:
    asked = {"tenant": "data", "flavor": "h100", "gpus": "3", "cpu": "1", "memory": "1Gi", "image": "pytorch"}
    page = visitor.post("/new/training/check/", {**asked, "framework": "job", "command": "true"}).content.decode()
    assert 'data-verdict="never"' in page
    assert "GPUs per node: 1" in page


def test_why_it_can_never_run_is_said_once_in_the_panel_and_once_at_the_field(visitor: Client) -> None:
    page = check(visitor, name="", gpus="9")
    said = re.search(r"It can never run: ([^<]+)", page)
    assert said is not None
    panel, _, fields = page.partition("hx-swap-oob")
    assert panel.count(said[1].strip()) == 1
    assert fields.count(said[1].strip()) == 1
    assert "<strong>Name</strong>" in panel


@pytest.mark.parametrize("name", ["tune", ""])
def test_what_is_not_known_yet_is_asked_again_by_itself(room: Lab, owner: Person, name: str) -> None:
    page = check(people.signed_in(owner), name=name)
    assert (verdict(page), "every 3s" in page) == ("", True)


@pytest.mark.parametrize("changed", [{}, {"name": ""}, {"cpu": "4 cores"}, {"gpus": "3"}])
def test_what_is_known_is_asked_again_only_after_a_change(visitor: Client, changed: dict[str, str]) -> None:
    assert "every 3s" not in check(visitor, **changed)


def test_many_are_counted_and_the_first_named() -> None:
    waiting = [{"team": f"t{n}", "gpus": n, "priority": 1, "waiting_s": 5} for n in range(1, 6)]
    shown = outlook({"verdict": "waits", "position": 6, "ahead": waiting, "alternatives": [], "as_of": None})
    assert shown.more == (
        "Before it: t1 with 1 GPU, priority 1; t2 with 2 GPU, priority 1; t3 with 3 GPU, priority 1; 2 more."
    )


def test_equal_ones_are_named_once_with_their_number() -> None:
    waiting = [{"team": "t", "gpus": 1, "priority": 1, "waiting_s": 5}] * 4 + [{"team": "u", "gpus": 2, "priority": 1}]
    shown = outlook({"verdict": "waits", "position": 6, "ahead": waiting, "alternatives": [], "as_of": None})
    assert shown.more == "Before it: 4 × t with 1 GPU, priority 1; u with 2 GPU, priority 1."


def test_who_would_go_is_told_also_where_that_leaves_no_node_with_room() -> None:
    note = {"code": "no_node_fits", "message": "Even then there is no node.", "needed": 3, "most_free": 2}
    victims = [{"team": "data", "gpus": 2, "priority": 10}]
    found = {"verdict": "preempts", "preempts": victims, "note": note, "alternatives": [], "as_of": None}
    shown = outlook(found)
    assert "data" in shown.sentence
    assert shown.more == "Even then there is no node."


def test_a_change_is_told_in_the_words_of_the_form() -> None:
    offer = choice({"change": {"flavor": "h100-1g", "gpus": 2}, "verdict": "borrows"})
    assert (offer.label, offer.borrows) == ("Card: h100-1g, GPUs per node: 2", True)
