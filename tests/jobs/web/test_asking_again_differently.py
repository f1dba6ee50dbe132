"""While it waits, each way out is one click: a priority is changed where it waits, all else is a form filled in."""

from __future__ import annotations

import html
import re
from urllib.parse import parse_qs, urlsplit

import pytest
from django.test import Client

from jobs.models import Workload
from portal.kernel.actors import Person
from tests.factories import tenants as people
from tests.jobs.stage import Stage

pytestmark = pytest.mark.django_db
LONG = {"TURNO_SIM_SECONDS": "6000"}


@pytest.fixture
def waits(stage: Stage, owner: Person) -> Workload:
    """The team's only whole card is taken; slices are free."""
    stage.submit(owner, name="runs", flavor="h100", env=LONG)
    row = stage.submit(
        owner,
        name="waits",
        flavor="h100",
        priority="low",
        description="it's mine",
        env={**LONG, "A": "1 2"},
        command=["python", "train it.py"],
        max_duration=5400,
        labels={"run": "nightly"},
        image="pytorch",
    )
    stage.run(2)
    return row


def page(client: Client, row: Workload) -> str:
    return client.get(f"/workloads/{row.pk}/").content.decode()


def value(markup: str, name: str) -> str:
    """What stands in a field."""
    found = re.search(rf'<(?:input|textarea)[^>]*name="{name}"[^>]*?(?:value="([^"]*)"[^>]*>|>\s*([^<]*)<)', markup)
    assert found, name
    return html.unescape((found[1] if found[1] is not None else found[2]).strip())


def test_another_flavor_is_a_form_filled_in_with_everything_else(owner: Person, waits: Workload) -> None:
    client = people.signed_in(owner)
    (link,) = re.findall(r'href="(/new/training/\?like=[^"]+)">Card: h100-1g</a>', page(client, waits))
    assert parse_qs(urlsplit(html.unescape(link)).query)["like"] == [str(waits.pk)]
    answer = client.get(html.unescape(link))
    form = answer.content.decode()
    assert answer.status_code == 200
    assert re.search(r'name="flavor"[^>]*value="h100-1g"[^>]*checked|checked[^>]*value="h100-1g"', form)
    assert value(form, "name") == "waits-2"
    assert value(form, "description") == "it's mine"
    assert value(form, "command") == "python 'train it.py'"
    assert value(form, "max_duration") == "90"
    assert re.search(r'<option value="60" selected', form)
    assert re.search(r'<option[^>]*value="low"[^>]*selected|<option value="low" selected', form)
    assert 'value="nightly"' in form or ">\nnightly" in form
    assert 'data-verdict="starts_now"' in form


def test_the_filled_form_can_be_sent(stage: Stage, owner: Person, waits: Workload) -> None:
    client = people.signed_in(owner)
    form = client.get(f'/new/training/?like={waits.pk}&instead={{"flavor":"h100-1g"}}').content.decode()
    key = value(form, "idempotency_key")
    sent = {"tenant": "data", "name": "waits-2", "flavor": "h100-1g", "gpus": "1", "cpu": "2", "memory": "8Gi"}
    sent |= {"image": "pytorch", "framework": "job", "nodes": "1", "command": "true", "idempotency_key": key}
    assert client.post("/new/training/", sent).status_code == 302
    stage.run(3)
    assert stage.reason(Workload.objects.get(name="waits-2")) == ("running", "ready")


def test_a_priority_is_changed_where_it_waits(stage: Stage, owner: Person, manager: Person, waits: Workload) -> None:
    client = people.signed_in(owner)
    answer = client.post(f"/workloads/{waits.pk}/priority/", {"priority": "normal"})
    assert (answer.status_code, answer["Location"]) == (302, f"/workloads/{waits.pk}/")
    waits.refresh_from_db()
    assert waits.priority == "normal"
    refused = client.post(f"/workloads/{waits.pk}/priority/", {"priority": "high"}, follow=True)
    assert "notice-error" in refused.content.decode()


def test_readers_see_the_ways_without_buttons(viewer: Person, outsider: Person, waits: Workload) -> None:
    markup = page(people.signed_in(viewer), waits)
    assert "Card: h100-1g" in markup
    assert "/new/training/?like" not in markup
    client = people.signed_in(outsider)
    assert client.get(f"/new/training/?like={waits.pk}").status_code == 404
    assert client.post(f"/workloads/{waits.pk}/priority/", {"priority": "normal"}).status_code == 404


@pytest.mark.parametrize("query", ["like=x", "like=", "like=00000000-0000-0000-0000-000000000000&instead=1"])
def test_what_is_like_nothing_is_not_found(owner: Person, stage: Stage, query: str) -> None:
    assert people.signed_in(owner).get(f"/new/training/?{query}").status_code == 404


@pytest.mark.parametrize("instead", ["", "{", "[]", '{"name": "evil"}', '{"gpus": []}'])
def test_a_change_that_is_none_changes_nothing(owner: Person, waits: Workload, instead: str) -> None:
    answer = people.signed_in(owner).get("/new/training/", {"like": str(waits.pk), "instead": instead})
    assert answer.status_code == 200
    assert value(answer.content.decode(), "name") == "waits-2"
