"""A server with all its cards in use falls silent, is gone, comes back with a card less, and is closed for new work."""

from __future__ import annotations

import re
from typing import Any

import pytest
from django.test import Client

from jobs.models import Workload
from portal.kernel import work
from portal.kernel.actors import Person
from portal.kernel.transaction import transaction
from quotas.models import Allocation, Queue, Quota
from tenants.models import User
from tests.factories import tenants as people
from tests.jobs.stage import Stage

pytestmark = pytest.mark.django_db
LONG = {"TURNO_SIM_SECONDS": "90000"}
CARD = "nvidia.com/gpu"
SERVER = {"name": "gpu-1", "card": "h100-80", "whole": 3, "mig": {"3g.40gb": 1, "1g.10gb": 4}}


@pytest.fixture
def full(stage: Stage, owner: Person) -> list[Workload]:
    """A notebook, an endpoint and a job hold all whole cards of the only server."""
    Quota.objects.filter(resource=CARD).update(nominal=3)
    with transaction():
        for pk in Queue.objects.values_list("pk", flat=True):
            work.wake("queue", pk)
    stage.settle()
    on = {"flavor": "h100", "gpus": 1}
    rows = [
        stage.submit(owner, "notebook", **on),
        stage.submit(owner, "endpoint", **on),
        stage.submit(owner, env=LONG, **on),
    ]
    stage.run(10)
    assert [stage.reason(row) for row in rows] == [("running", "ready")] * 3
    return rows


def figures(owner: Person) -> tuple[int, int, int]:
    """Capacity, out of order, free: over REST; the home page says the same."""
    client = Client()
    said = client.get("/api/v1/flavors/h100/", headers=people.bearer(owner)).json()
    (listed,) = [
        one
        for one in client.get("/api/v1/flavors/", headers=people.bearer(owner)).json()["results"]
        if one["name"] == "h100"
    ]
    found = said["capacity"], said["unavailable"], said["free"]
    assert found == (listed["capacity"], listed["unavailable"], listed["free"])
    client.force_login(User.objects.get(pk=owner.id))
    page = client.get("/", headers={"Accept-Language": "en"}).content.decode()
    row = next(part for part in page[page.index('id="free"') :].split("<tr>") if ">h100<" in part)
    text = " ".join(re.sub(r"<[^>]+>", " ", row.partition("</tr>")[0]).split())
    order = "more is" if said["unavailable"] == 1 else "more are"
    assert (f"{said['unavailable']} {order} out of order" in text) == bool(said["unavailable"])
    assert text.endswith(f" {said['free']} {said['capacity']}"), text
    return found


def truthful(row: Workload) -> None:
    for one in Allocation.objects.filter(workload_id=row.pk):
        assert one.released_at is None or one.released_at >= one.admitted_at
    still = Allocation.objects.filter(workload_id=row.pk, released_at=None)
    assert still.exists() == Workload.objects.get(pk=row.pk).quota_held
    assert still.count() <= 1


def states(stage: Stage, rows: list[Workload]) -> list[tuple[str, str]]:
    for row in rows:
        truthful(row)
    return [stage.reason(row) for row in rows]


def test_each_step_is_told_and_the_figures_agree(stage: Stage, owner: Person, full: list[Workload]) -> None:
    assert figures(owner) == (3, 0, 0)

    stage.control("PATCH", "/nodes/gpu-1", {"kubelet": "stopped"})
    stage.run(60, step=5)
    for row, (state, reason) in zip(full, states(stage, full), strict=True):
        assert (state, reason) == ("starting", "node_state_unknown")
        assert stage.now(row).reason_params["node"] == "gpu-1"
        assert stage.now(row).reason_params["since"]
    assert figures(owner) == (0, 3, 0)

    stage.control("DELETE", "/nodes/gpu-1")
    stage.run(60, step=5)
    (book, served, job) = states(stage, full)
    assert job == ("failed", "node_failure")
    assert stage.runs(full[2]) == [(1, "failed", None)]
    assert {book[0], served[0]} <= {"starting", "queued"}
    assert figures(owner) == (0, 0, 0)

    stage.control("POST", "/nodes", SERVER)
    stage.control("PATCH", "/nodes/gpu-1", {"allocatable": {CARD: "2"}})
    stage.run(60, step=5)
    assert states(stage, full[:2]) == [("running", "ready")] * 2
    assert figures(owner) == (2, 1, 0)

    stage.control("PATCH", "/nodes/gpu-1", {"cordoned": True})
    stage.run(20, step=5)
    assert states(stage, full[:2]) == [("running", "ready")] * 2
    assert figures(owner) == (0, 3, 0)
    assert [run[0] for row in full[:2] for run in stage.runs(row)] == [1, 1]


def test_a_job_is_tried_again_as_often_as_was_asked(stage: Stage, owner: Person) -> None:
    row = stage.submit(owner, env=LONG, retries=1)
    stage.run(8)
    for _ in range(2):
        stage.control("DELETE", "/nodes/gpu-1")
        stage.run(40, step=5)
        stage.control("POST", "/nodes", SERVER)
        stage.run(20, step=5)
    assert stage.reason(row) == ("failed", "node_failure")
    assert stage.runs(row) == [(1, "failed", None), (2, "failed", None)]
    truthful(row)


def test_over_the_rest_the_sentence_says_since_when(stage: Stage, owner: Person) -> None:
    row = stage.submit(owner, "notebook")
    stage.run(8)
    stage.control("PATCH", "/nodes/gpu-1", {"kubelet": "stopped"})
    stage.run(60, step=5)
    headers: dict[str, Any] = {**people.bearer(owner), "Accept-Language": "en"}
    said = Client().get(f"/api/v1/notebooks/{row.pk}/", headers=headers).json()
    assert said["reason"] == "node_state_unknown"
    assert re.search(r"gpu-1 has not answered since 2026-12-01T09:0\d:\d\dZ", said["message"])
