"""A limit of the team's policy is the same sentence at every door: REST, form, dry run, start, and for everybody."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from django.test import Client

from jobs import services, transitions
from jobs.models import Workload
from jobs.states import Reason
from portal.kernel.actors import Actor, Machine, Person
from portal.kernel.errors import Conflict, Invalid
from portal.kernel.transaction import transaction
from tenants.models import Policy, Tenant
from tests.conftest import FrozenClock
from tests.factories import jobs
from tests.factories import tenants as people
from tests.factories.quotas import Lab

pytestmark = pytest.mark.django_db


@pytest.fixture
def ended(owner: Person, room: Lab, frozen: FrozenClock) -> dict[str, Workload]:
    """A stopped and a failed one, made before the policy was narrow."""
    found = {}
    for name, reason in (("stopped", Reason.STOPPED_BY_PERSON), ("failed", Reason.EXIT_CODE)):
        row = jobs.submitted(owner, name=name, max_duration=7200)
        with transaction():
            if name == "stopped":
                transitions.move(row, reason=Reason.STOP_REQUESTED, now=frozen.at)
            transitions.move(row, reason=reason, now=frozen.at)
        found[name] = row
    return found


@pytest.fixture
def doors(owner: Person, manager: Person, machine: Machine, ended: dict[str, Workload]) -> list[Callable[..., Any]]:
    """Every way to more live work, with the changes to the request that it takes."""

    def submit(actor: Actor) -> Callable[..., Any]:
        return lambda **changes: jobs.submitted(actor, name="another", **changes)

    def dry(**changes: Any) -> Any:
        return services.preview(owner, kind="training", data=jobs.request(name="another", **changes))

    def again(name: str) -> Callable[..., Any]:
        return lambda **_: services.start(owner, workload_id=ended[name].pk)

    return [submit(owner), submit(manager), submit(machine), dry, again("stopped"), again("failed")]


def refusal(door: Callable[..., Any], **changes: Any) -> tuple[str, str]:
    """Code and sentence."""
    with pytest.raises((Conflict, Invalid)) as refused:
        door(**changes)
    error = refused.value
    if isinstance(error, Invalid):
        return error.errors[0].field, str(error.errors[0].message)
    return error.code, str(error.message)


def test_the_number_of_live_workloads(owner: Person, team: Tenant, doors: list[Callable[..., Any]]) -> None:
    jobs.submitted(owner, name="live")
    Policy.objects.filter(tenant=team).update(max_live=1)
    said = {refusal(door) for door in doors}
    form = people.signed_in(owner).post("/new/training/", {**form_of("another"), "idempotency_key": "k"})
    assert [code for code, _ in said] == ["max_live"]
    assert next(iter(said))[1].replace("&#x27;", "'") in form.content.decode().replace("&#x27;", "'")


def test_the_longest_duration(owner: Person, team: Tenant, doors: list[Callable[..., Any]]) -> None:
    Policy.objects.filter(tenant=team).update(longest_max_duration=3600)
    assert {refusal(door, max_duration=7200) for door in doors} == {
        ("max_duration", "The team's policy allows at most 3600 seconds.")
    }


def test_the_images(owner: Person, team: Tenant, doors: list[Callable[..., Any]]) -> None:
    Policy.objects.filter(tenant=team).update(images=["python"])
    assert {refusal(door) for door in doors} == {("image", "The team's policy does not allow this image.")}


def test_a_lower_limit_stops_nobody(owner: Person, team: Tenant, room: Lab) -> None:
    rows = [jobs.submitted(owner, name=f"n{number}") for number in range(3)]
    Policy.objects.filter(tenant=team).update(max_live=1)
    assert Workload.objects.filter(pk__in=[row.pk for row in rows], wanted="run").count() == 3


def form_of(name: str) -> dict[str, object]:
    body = {**jobs.request(name=name), "command": "python train.py", "framework": "job", "nodes": "1"}
    return {field: str(value) for field, value in body.items()}


def test_the_form_is_a_client_like_any_other(owner: Person, room: Lab) -> None:
    browser: Client = people.signed_in(owner)
    answer = browser.post("/new/training/", {**form_of("fine"), "idempotency_key": "k"})
    assert answer.status_code == 302
    assert Workload.objects.get().name == "fine"
