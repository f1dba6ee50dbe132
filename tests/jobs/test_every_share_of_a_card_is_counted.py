"""Whole cards, slices and several nodes of slices: each is counted in its own unit, and every place tells the same."""

from __future__ import annotations

from typing import Any

import pytest
from django.test import Client

from jobs.models import Workload
from portal.gpus import SHARED_GPU
from portal.kernel.actors import Person
from quotas.models import Mode
from tenants.models import Tenant
from tests.factories import quotas as quota_rows
from tests.factories import tenants as people
from tests.factories.quotas import Lab
from tests.jobs.stage import Stage

pytestmark = pytest.mark.django_db
LONG = {"TURNO_SIM_SECONDS": "600"}
GPU, SLICE, HALF = "nvidia.com/gpu", "nvidia.com/mig-1g.10gb", "nvidia.com/mig-3g.40gb"


def get(path: str, actor: Person) -> Any:
    return Client().get(f"/api/v1{path}", headers=people.bearer(actor)).json()


@pytest.fixture
def running(stage: Stage, owner: Person) -> list[Workload]:
    """One card, and two nodes of one slice each: all that the team has of its two flavors."""
    rows = [
        stage.submit(owner, name="card", env=LONG, flavor="h100", gpus=1),
        stage.submit(owner, name="pair", env=LONG, flavor="h100-1g", gpus=1, framework="indexed", nodes=2),
    ]
    stage.run(4)
    assert [stage.reason(row)[0] for row in rows] == ["running", "running"]
    return rows


def on_the_cluster(stage: Stage) -> dict[str, str]:
    """What Kueue says that the team's queue holds, of every resource."""
    queue = next(one for one in stage.objects("ClusterQueue", "") if one["metadata"]["name"] == "turno-data")
    return {
        resource["name"]: resource["total"]
        for flavor in queue["status"]["flavorsReservation"]
        for resource in flavor["resources"]
        if resource["total"] != "0"
    }


def test_quota_flavors_cluster_and_home_tell_the_same(stage: Stage, owner: Person, running: list[Workload]) -> None:
    cells = {(cell["flavor"], cell["resource"]): cell for cell in get("/tenants/data/quota/", owner)}
    assert {key: cell["held"] for key, cell in cells.items()} == {
        ("h100", GPU): 1,
        ("h100-1g", SLICE): 2,
        ("h100-3g", HALF): 0,
    }
    assert {name: held for name, held in on_the_cluster(stage).items() if "nvidia" in name} == {GPU: "1", SLICE: "2"}
    flavors = {one["name"]: one for one in get("/flavors/", owner)["results"]}
    assert {name: (one["capacity"], one["free"]) for name, one in flavors.items() if one["resource"]} == {
        "h100": (3, 2),
        "h100-1g": (4, 2),
        "h100-3g": (1, 1),
    }
    home = people.signed_in(owner).get("/").content.decode()
    for held in ("1 of 1 in use", "2 of 2 in use", "0 of 0 in use"):
        assert held in home


def test_shares_of_time_are_units_of_their_own(
    stage: Stage, owner: Person, team: Tenant, room: Lab, running: list[Workload]
) -> None:
    labels = {"nvidia.com/gpu.product": "NVIDIA-A30"}
    shared = quota_rows.flavor(
        room.cluster, "a30-shared", Mode.SHARED, SHARED_GPU, card="a30-24", memory_mib=24576, node_labels=labels
    )
    quota_rows.quota(team, shared, 3)
    quota_rows.quota(
        team, quota_rows.flavor(room.cluster, "spare", Mode.WHOLE, "nvidia.com/gpu", node_labels={"x": "y"}), 0
    )
    stage.control("POST", "/nodes", {"name": "gpu-a30", "card": "a30-24", "whole": 1, "shared": 4})
    stage.furnish()
    row = stage.submit(owner, name="share", env=LONG, flavor="a30-shared", gpus=1)
    stage.run(4)
    assert stage.reason(row) == ("running", "ready")
    cells = {
        cell["flavor"]: (cell["resource"], cell["nominal"], cell["held"]) for cell in get("/tenants/data/quota/", owner)
    }
    assert cells == {
        "h100": (GPU, 1, 1),
        "h100-1g": (SLICE, 2, 2),
        "h100-3g": (HALF, 0, 0),
        "a30-shared": (SHARED_GPU, 3, 1),
        "spare": (GPU, 0, 0),
    }
    told = {name: held for name, held in on_the_cluster(stage).items() if "nvidia" in name}
    assert told == {GPU: "1", SLICE: "2", SHARED_GPU: "1"}
    home = people.signed_in(owner).get("/").content.decode()
    assert "1 of 3 in use" in home
    assert "0 of 0 in use" in home


def test_a_row_of_the_list_says_what_a_node_has_and_how_many_there_are(owner: Person, running: list[Workload]) -> None:
    rows = {one["name"]: (one["flavor"], one["gpus"], one["nodes"]) for one in get("/workloads/", owner)["results"]}
    assert rows == {"card": ("h100", 1, 1), "pair": ("h100-1g", 1, 2)}
    for row, units in zip(running, (1, 2), strict=True):
        runs = get(f"/training-jobs/{row.pk}/runs/", owner)["results"]
        assert [(one["flavor"], one["units"]) for one in runs[0]["allocations"]] == [(row.flavor.name, units)]


def test_what_waits_is_told_in_the_units_of_its_flavor(stage: Stage, owner: Person, running: list[Workload]) -> None:
    row = stage.submit(owner, name="more", env=LONG, flavor="h100-1g", gpus=1, framework="indexed", nodes=2)
    stage.run(2)
    found = get(f"/training-jobs/{row.pk}/explain/", owner)
    blocker = found["blocker"]
    assert (blocker["flavor"], blocker["resource"], blocker["needed"]) == ("h100-1g", SLICE, 2)
    assert [(one["team"], one["gpus"]) for one in found["holders"]] == [("data", 2)]


def test_processors_and_memory_of_the_same_pods_count_as_no_card(
    stage: Stage, owner: Person, running: list[Workload]
) -> None:
    assert set(on_the_cluster(stage)) == {"cpu", "memory", GPU, SLICE}
    stage.stop(owner, running[0])
    stage.run(40)
    held = {(cell["flavor"], cell["resource"]): cell["held"] for cell in get("/tenants/data/quota/", owner)}
    assert held == {("h100", GPU): 0, ("h100-1g", SLICE): 2, ("h100-3g", HALF): 0}
