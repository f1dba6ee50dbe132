"""`logs/`: the run, the container and the life that were asked for, under the id that they belong to and no other."""

from __future__ import annotations

from typing import Any

import pytest
from django.test import Client

from jobs import services
from jobs.models import Run, Workload
from portal.kernel import clock
from portal.kernel.actors import Person
from tests.factories import logs
from tests.factories import tenants as people
from tests.factories.jobs import submitted, with_gateway
from tests.factories.quotas import Lab

pytestmark = pytest.mark.django_db
JOBS = "/api/v1/training-jobs/"


def said(row: Workload, text: str, **where: Any) -> None:
    """One captured line of one life of one container."""
    logs.chunk(logs.stream(row, **where), f"{text}\n", complete=True)


def over(row: Workload, state: str = "failed") -> Workload:
    Workload.objects.filter(pk=row.pk).update(state=state, finished_at=clock.now())
    Run.objects.filter(workload=row).update(ended_at=clock.now(), outcome=state)
    return row


def log(actor: Person, row: Workload, query: str = "") -> tuple[int, str]:
    answer = Client().get(f"{JOBS}{row.pk}/logs/{query}", headers=people.bearer(actor))
    return answer.status_code, answer.content.decode()


@pytest.fixture
def ended(owner: Person, room: Lab, job: dict[str, object]) -> Workload:
    with_gateway(room.cluster)
    return over(services.submit(owner, kind="training", data=job))


def test_a_container_that_restarted_shows_the_life_before_where_previous_is_asked(
    owner: Person, ended: Workload
) -> None:
    for life, text in enumerate(("first life", "second life", "third life")):
        said(ended, text, life=life)
    assert log(owner, ended, "?previous=true") == (200, "second life\n")
    assert log(owner, ended, "?previous=false")[1].endswith("third life\n")
    assert log(owner, ended, "?previous=yes")[0] == 400


def test_each_container_of_each_pod_can_be_chosen(owner: Person, ended: Workload) -> None:
    for pod in ("train-0", "train-1"):
        said(ended, f"model of {pod}", pod=pod)
        said(ended, f"proxy of {pod}", pod=pod, container="proxy")
    text = log(owner, ended, "?container=proxy")[1]
    assert "proxy of train-0" in text
    assert "proxy of train-1" in text
    assert "model" not in text
    assert log(owner, ended, "?container=none") == (200, "")


def test_each_run_can_be_chosen_and_the_newest_is_meant(owner: Person, ended: Workload) -> None:
    said(ended, "tried")
    now = clock.now()
    Run.objects.create(workload=ended, number=2, spec={}, created_at=now, ended_at=now, outcome="failed")
    Workload.objects.filter(pk=ended.pk).update(run_number=2)
    said(ended, "tried again", run=2)
    assert log(owner, ended) == (200, "tried again\n")
    assert log(owner, ended, "?run=1") == (200, "tried\n")


def test_a_name_that_is_used_again_leaves_the_old_log_under_the_old_id(owner: Person, ended: Workload) -> None:
    said(ended, "of the old one")
    again = over(submitted(owner, name=ended.name))
    assert log(owner, again) == (200, "")
    said(again, "of the new one")
    assert log(owner, ended) == (200, "of the old one\n")
    assert log(owner, again) == (200, "of the new one\n")


@pytest.mark.parametrize("query", ["", "?follow=true", "?run=1", "?container=main"])
def test_a_deleted_workloads_log_is_gone_with_it(owner: Person, ended: Workload, query: str) -> None:
    said(ended, "something")
    assert log(owner, ended) == (200, "something\n")
    Workload.objects.filter(pk=ended.pk).update(state="deleted", deleted_at=clock.now())
    status, text = log(owner, ended, query)
    assert status == 404
    assert "something" not in text
