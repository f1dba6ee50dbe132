"""A workload whose passes were given up says so, with the last error and what brings it back."""

from __future__ import annotations

import uuid

import pytest
from django.core.management import CommandError, call_command

from jobs import selectors, services
from jobs.models import Workload
from portal.kernel.actors import Person
from portal.kernel.models import Work
from tests.factories import jobs
from tests.factories import tenants as people
from tests.factories.quotas import Lab

pytestmark = pytest.mark.django_db
WHY = "ValueError: a node without a name"


@pytest.fixture
def given_up(owner: Person, room: Lab) -> Workload:
    row = jobs.submitted(owner)
    Work.objects.filter(object_id=row.pk).update(parked_reason=WHY)
    return row


def test_explain_says_why_and_who_can_do_what(owner: Person, given_up: Workload) -> None:
    told = selectors.explain(owner, given_up.pk)
    assert told["blocker"]["code"] == "parked"
    assert WHY in told["blocker"]["message"]
    ways = {way["who"]: way["action"] for way in told["ways_out"]}
    assert "starting it" in ways["you"]
    assert f"manage.py wake workload {given_up.pk}" in ways["administrator"]


def test_its_page_says_so_in_any_state(owner: Person, given_up: Workload) -> None:
    page = people.signed_in(owner).get(f"/workloads/{given_up.pk}/live/").content.decode()
    assert WHY in page
    assert "Changing, stopping or starting it makes Turno try again." in page


def test_what_it_says_ends_when_somebody_stops_it(owner: Person, given_up: Workload) -> None:
    services.stop(owner, workload_id=given_up.pk)
    assert selectors.parked(given_up.pk) is None
    assert selectors.explain(owner, given_up.pk)["blocker"] is None


def test_an_administrator_wakes_it(given_up: Workload) -> None:
    call_command("wake", "workload", str(given_up.pk))
    assert selectors.parked(given_up.pk) is None
    with pytest.raises(CommandError):
        call_command("wake", "workload", str(uuid.uuid4()))
