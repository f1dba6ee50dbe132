"""The form pages: one form page makes one workload, and every refusal stands at its field."""

from __future__ import annotations

import re
from typing import Any
from uuid import uuid4

import pytest
from django.test import Client

from jobs.models import Workload
from portal.kernel.actors import Person
from portal.kernel.models import FeedEntry
from tests.factories import tenants as people
from tests.factories.quotas import Lab

NOTEBOOK = {
    "tenant": "data",
    "name": "lab",
    "flavor": "h100-1g",
    "gpus": "1",
    "cpu": "4",
    "memory": "16Gi",
    "ide": "jupyterlab",
    "image": "jupyterlab",
    "storage": "20Gi",
}
TRAINING = {
    "tenant": "data",
    "name": "tune",
    "flavor": "h100-1g",
    "gpus": "1",
    "cpu": "4",
    "memory": "16Gi",
    "framework": "job",
    "nodes": "1",
    "image": "pytorch",
    "command": "python train.py --name 'two words'",
}
ENDPOINT = {
    "tenant": "data",
    "name": "chat",
    "flavor": "h100-1g",
    "gpus": "1",
    "cpu": "4",
    "memory": "16Gi",
    "runtime": "vllm-plain",
    "image": "vllm",
    "model": "org/model",
    "min_replicas": "1",
}
KINDS = {"notebook": NOTEBOOK, "training": TRAINING, "endpoint": ENDPOINT}


@pytest.fixture
def visitor(owner: Person, room: Lab) -> Client:
    room.cluster.auth_filter = {"group": "x.example", "kind": "Auth", "name": "turno"}  # else no notebooks there
    room.cluster.save()
    return people.signed_in(owner)


def text(answer) -> str:
    return answer.content.decode()


def key_of(page: str) -> str:
    found = re.search(r'name="idempotency_key" value="([^"]+)"', page)
    assert found
    return found[1]


def send(visitor: Client, kind: str = "training", key: str | None = None, **changed: Any) -> Any:
    values = {**KINDS[kind], "idempotency_key": key or str(uuid4()), **changed}
    return visitor.post(f"/new/{kind}/", values)


@pytest.mark.parametrize("kind", KINDS)
def test_a_form_as_it_stands_becomes_a_workload_with_its_own_page(visitor: Client, kind: str) -> None:
    answer = send(visitor, kind)
    row = Workload.objects.get()
    assert (answer.status_code, answer["Location"]) == (302, f"/workloads/{row.pk}/")
    assert row.kind == kind
    page = visitor.get(answer["Location"])
    assert page.status_code == 200
    assert row.name in text(page)


@pytest.mark.parametrize("kind", KINDS)
def test_the_form_page_opens_with_choices_of_the_team(visitor: Client, kind: str) -> None:
    page = text(visitor.get(f"/new/{kind}/"))
    assert 'value="h100-1g"' in page
    assert 'value="h100-3g"' not in page  # the team has no quota of it and cannot borrow
    assert f'value="{KINDS[kind]["image"]}"' in page


def test_words_of_a_command_arrive_as_words(visitor: Client) -> None:
    send(visitor)
    assert Workload.objects.get().bulk["command"] == ["python", "train.py", "--name", "two words"]


def test_one_form_page_makes_one_workload_however_often_it_is_sent(visitor: Client) -> None:
    key = key_of(text(visitor.get("/new/training/")))
    places = {send(visitor, key=key)["Location"] for _ in range(5)}
    assert len(places) == 1
    assert Workload.objects.count() == 1


def test_two_tabs_that_fetched_their_own_form_are_two_intents(visitor: Client) -> None:
    keys = [key_of(text(visitor.get("/new/training/"))) for _ in range(2)]
    send(visitor, key=keys[0], name="one")
    send(visitor, key=keys[1], name="two")
    assert Workload.objects.count() == 2


def test_an_old_form_sent_with_something_else_asks_before_it_makes_another(visitor: Client) -> None:
    key = key_of(text(visitor.get("/new/training/")))
    send(visitor, key=key, name="one")
    answer = send(visitor, key=key, name="two")
    assert Workload.objects.count() == 1
    page = text(answer)
    assert "already sent" in page
    fresh = key_of(page)
    assert fresh != key
    assert send(visitor, key=fresh, name="two").status_code == 302


def test_a_form_that_was_refused_can_be_mended_and_sent_with_the_same_key(visitor: Client) -> None:
    key = key_of(text(visitor.get("/new/training/")))
    refused = send(visitor, key=key, cpu="4 cores")
    assert refused.status_code == 422
    assert key_of(text(refused)) == key
    assert send(visitor, key=key).status_code == 302


@pytest.mark.parametrize(
    ("field", "typed"),
    [
        ("name", "Not A Name"),
        ("name", ""),
        ("name", "n" + "x" * 63),
        ("gpus", "0.5"),
        ("gpus", "1 GPU"),
        ("gpus", "-1"),
        ("gpus", "99999999999"),
        ("cpu", "4 cores"),
        ("memory", "8GB"),
        ("memory", "8"),
        ("image", "nothing"),
        ("retries", "many"),
        ("command", "echo 'open"),
    ],
)
def test_a_refusal_stands_at_its_field_with_the_words_of_the_api(visitor: Client, field: str, typed: str) -> None:
    answer = send(visitor, **{field: typed})
    page = text(answer)
    assert answer.status_code == 422
    error = re.search(rf'id="error-{field}">.*?<span>(.*?)</span>', page, re.DOTALL)
    assert error, page
    assert f'id="id_{field}"' in page
    assert re.search(rf'id="id_{field}"[^>]*aria-invalid="true"', page)
    assert not Workload.objects.exists()


def test_a_name_that_is_taken_stands_at_its_field_with_the_one_that_holds_it(visitor: Client, teammate: Person) -> None:
    assert send(visitor).status_code == 302
    holder = Workload.objects.get()
    answer = send(people.signed_in(teammate))
    error = re.search(r'id="error-name">.*?<span>(.*?)</span>', text(answer), re.DOTALL)
    assert answer.status_code == 422
    assert error
    assert f"“tune” is in use by {holder.pk} (submitted)" in error[1]
    assert list(Workload.objects.all()) == [holder]


def test_form_and_api_say_the_same(visitor: Client, owner: Person) -> None:
    body = {"tenant": "data", "name": "tune", "flavor": "h100-1g", "gpus": 0.5, "cpu": "4", "memory": "8GB"}
    body |= {"framework": "job", "nodes": 1, "image": "pytorch", "command": ["python"]}
    told = visitor.post(
        "/api/v1/training-jobs/", body, content_type="application/json", headers=people.bearer(owner)
    ).json()["errors"]
    page = text(send(visitor, gpus="0.5", memory="8GB"))
    assert {error["field"] for error in told} == {"gpus", "memory"}
    assert all(error["message"].replace("'", "&#x27;") in page for error in told)


def test_what_was_typed_is_still_there_after_a_refusal(visitor: Client) -> None:
    page = text(
        send(
            visitor,
            cpu="lots",
            env_name=["A", "1BAD"],
            env_value=["\r\nline one\r\nline two ", "x"],
            max_duration="90",
            max_duration_unit="60",
        )
    )
    assert 'value="lots"' in page
    assert 'name="env_name" value="A"' in page
    assert "\n\nline one\nline two </textarea>" in page.replace("\r", "")
    assert 'value="90"' in page
    assert '<option value="60" selected>' in page


def test_a_bad_variable_is_marked_in_its_own_row(visitor: Client) -> None:
    page = text(send(visitor, env_name=["GOOD", "NVIDIA_VISIBLE_DEVICES"], env_value=["1", "all"]))
    rows = page.split('<div class="env-row">')[1:]
    assert 'aria-invalid="true"' not in rows[0]
    assert 'aria-invalid="true"' in rows[1]


def test_a_variable_given_twice_is_refused_at_the_second_row(visitor: Client) -> None:
    rows = text(send(visitor, env_name=["A", "A"], env_value=["1", "2"])).split('<div class="env-row">')[1:]
    assert ["This name is given twice." in row for row in rows[:2]] == [False, True]


def test_a_taken_name_stands_at_the_name(visitor: Client) -> None:
    send(visitor)
    answer = send(visitor)
    assert answer.status_code == 422
    assert re.search(r'id="error-name">.*?<span>', text(answer), re.DOTALL)


def test_the_check_writes_nothing_and_shows_the_same_as_curl_and_yaml(visitor: Client) -> None:
    answer = visitor.post("/new/training/check/", TRAINING)
    page = text(answer)
    assert answer.status_code == 200
    assert "Everything reads well." in page
    assert "/api/v1/training-jobs/" in page
    assert "kind: Job" in page
    assert not Workload.objects.exists()
    assert not FeedEntry.objects.exists()


def test_the_check_does_not_scold_for_what_is_not_yet_reached(visitor: Client) -> None:
    page = text(visitor.post("/new/training/check/", {**TRAINING, "name": "", "cpu": "4 cores"}))
    assert re.search(r'id="error-cpu" hx-swap-oob="true"><svg', page)
    assert 'id="error-name" hx-swap-oob="true"></p>' in page


def test_numbers_in_machine_places_are_the_same_in_spanish(visitor: Client) -> None:
    def machine(language: str) -> list[str]:
        page = text(visitor.get("/new/training/", headers={"Accept-Language": language}))
        return [value for value in re.findall(r'value="([^"]*)"', page) if "-" not in value and len(value) < 40]

    assert machine("en") == machine("es")


def test_a_viewer_is_told_whom_to_ask(viewer: Person, room: Lab) -> None:
    client = people.signed_in(viewer)
    assert "You cannot start work yet" in text(client.get("/new/notebook/"))
    assert client.post("/new/notebook/", {**NOTEBOOK, "idempotency_key": "k"}).status_code == 422
    assert not Workload.objects.exists()


def test_another_teams_name_is_no_way_in(outsider: Person, room: Lab) -> None:
    answer = people.signed_in(outsider).post("/new/notebook/", {**NOTEBOOK, "idempotency_key": "k"})
    assert answer.status_code == 422
    assert not Workload.objects.exists()


def test_nobody_in_no_team_learns_anything(db: None, room: Lab) -> None:
    alone = people.signed_in(people.person(people.user("sola")))
    assert "You are in no team yet" in text(alone.get("/"))
    assert "h100" not in text(alone.get("/"))
    assert "You cannot start work yet" in text(alone.get("/new/training/"))
