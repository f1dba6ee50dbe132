"""Quota counts the cards of all nodes together; a pod needs its cards on one. Preview and page tell the two apart."""

from __future__ import annotations

from typing import Any

import pytest

from jobs import selectors, services
from jobs.models import Workload
from portal.cluster.models import MirrorObject, MirrorStream
from portal.kernel.actors import Person
from portal.kernel.errors import Invalid
from quotas.models import Flavor, Quota
from tests.factories import jobs
from tests.factories import tenants as people
from tests.factories.quotas import Lab
from tests.jobs.stage import Stage

pytestmark = pytest.mark.django_db
LONG = {"TURNO_SIM_SECONDS": "6000"}


def node_of(row: Workload) -> str:
    pod = MirrorObject.objects.get(kind="Pod", workload_id=row.pk)
    return str(pod.data["spec"]["nodeName"])


@pytest.fixture
def halves(stage: Stage, owner: Person, room: Lab) -> list[Workload]:
    """Two nodes with four cards each, and a job with two of them on each: four cards are free, two a node."""
    stage.control("DELETE", "/nodes/gpu-1")
    for name in ("big-1", "big-2"):
        stage.control("POST", "/nodes", {"name": name, "card": "h100-80", "whole": 4})
    Flavor.objects.filter(pk=room.whole.pk).update(max_per_node=4)
    Quota.objects.filter(flavor=room.whole).update(nominal=8)
    stage.furnish()
    rows = [stage.submit(owner, name=f"pair-{n}", flavor="h100", gpus=2, env=LONG) for n in range(4)]
    stage.run(5)
    kept = {node_of(row): row for row in rows}
    assert set(kept) == {"big-1", "big-2"}
    for row in rows:
        if row not in kept.values():
            stage.stop(owner, row)
    stage.run(10)
    return list(kept.values())


def preview(actor: Person, **changes: Any) -> dict[str, Any]:
    found = services.preview(actor, kind="training", data=jobs.request(flavor="h100", **changes)).preview
    assert found is not None
    return found


def test_the_preview_says_so_and_names_what_would_start(stage: Stage, owner: Person, halves: list[Workload]) -> None:
    found = preview(owner, gpus=4)
    assert found["verdict"] == "starts_now"
    assert found["note"] == {
        "code": "no_node_fits",
        "message": "Quota is free, but no node has 4 of h100 free at once: the most is 2.",
        "needed": 4,
        "most_free": 2,
    }
    assert found["alternatives"][0] == {"change": {"gpus": 2}, "verdict": "starts_now"}
    changes = [str(one["change"]) for one in preview(owner, gpus=2)["alternatives"]]
    assert len(changes) == len(set(changes))
    assert preview(owner, gpus=2)["note"] is None


def test_evictions_that_leave_no_node_with_room_are_told_beforehand(
    stage: Stage, owner: Person, halves: list[Workload], room: Lab
) -> None:
    """Two cards of each node are held by equals; taking out the humble one frees two on one node only."""
    Quota.objects.filter(flavor=room.whole).update(nominal=6)
    stage.furnish()
    humble = stage.submit(owner, name="humble", flavor="h100", gpus=2, env=LONG, priority="low")
    stage.run(5)
    assert stage.reason(humble)[0] == "running"
    assert preview(owner, gpus=2)["verdict"] == "preempts"
    assert preview(owner, gpus=2)["note"] is None
    Flavor.objects.filter(pk=room.whole.pk).update(max_per_node=8)
    Quota.objects.filter(flavor=room.whole).update(nominal=7)
    stage.furnish()
    found = preview(owner, gpus=3)
    assert (found["verdict"], found["note"]["most_free"], found["note"]["code"]) == ("preempts", 2, "no_node_fits")
    assert found["note"]["message"].startswith("Even once those have gone, no node would have 3 of h100 free at once")


def test_an_indexed_job_may_have_the_same_cards_on_more_nodes(owner: Person, halves: list[Workload]) -> None:
    found = preview(owner, gpus=4, framework="indexed", nodes=1)
    assert found["alternatives"][0] == {"change": {"gpus": 2, "nodes": 2}, "verdict": "starts_now"}
    spread = preview(owner, gpus=3, framework="indexed", nodes=1)
    assert spread["alternatives"][0]["change"] == {"gpus": 1, "nodes": 3}


def test_several_nodes_are_counted_one_by_one(owner: Person, halves: list[Workload]) -> None:
    stop_at = preview(owner, gpus=2, framework="indexed", nodes=2)
    assert stop_at["note"] is None
    Quota.objects.update(nominal=20)
    assert preview(owner, gpus=1, framework="indexed", nodes=4)["note"] is None


def test_what_is_sent_all_the_same_starts_and_says_why_it_does_not_run(
    stage: Stage, owner: Person, halves: list[Workload]
) -> None:
    row = stage.submit(owner, name="whole", flavor="h100", gpus=4, env=LONG)
    stage.run(5)
    assert stage.reason(row) == ("starting", "no_node_fits")
    found = selectors.explain(owner, row.pk)
    blocker = found["blocker"]
    assert (blocker["code"], blocker["needed"], blocker["available"]) == ("no_node_fits", 4, 2)
    assert blocker["note"] == "Its quota is held, but it needs 4 of h100 on one node, and the most is 2."
    assert "Insufficient nvidia.com/gpu" in blocker["message"]
    assert {"gpus": 2} in [way["change"] for way in found["ways_out"]]
    page = people.signed_in(owner).get(f"/workloads/{row.pk}/").content.decode()
    assert "it needs 4 of h100 on one node, and the most is 2." in page
    assert "GPUs per node: 2</a>" in page


def test_c38_four_on_two_half_full_nodes(stage: Stage, owner: Person, halves: list[Workload]) -> None:
    """Quota is free and no node is: it is said before, it is said after, and what fits need not wait behind it, where
    quota is left for it (what is admitted holds its quota, with or without a node)."""
    Quota.objects.filter(flavor__name="h100").update(nominal=9)
    stage.furnish()
    asked = preview(owner, gpus=4)
    assert asked["note"]["code"] == "no_node_fits"
    assert {"change": {"gpus": 2}, "verdict": "starts_now"} in asked["alternatives"]
    four = stage.submit(owner, name="four", flavor="h100", gpus=4, env=LONG)
    one = stage.submit(owner, name="one", flavor="h100", gpus=1, env=LONG)
    stage.run(5)
    assert stage.reason(four) == ("starting", "no_node_fits")
    assert "Insufficient nvidia.com/gpu" in selectors.explain(owner, four.pk)["blocker"]["message"]
    assert stage.reason(one) == ("running", "ready")
    with pytest.raises(Invalid) as refused:
        services.submit(owner, kind="training", data=jobs.request(flavor="h100", gpus=5))
    (fault,) = refused.value.errors
    assert (fault.field, fault.code) == ("gpus", "exceeds_maximum")
    assert "4" in str(fault.message)


def test_what_no_node_takes_gives_its_quota_back_to_what_fits(
    stage: Stage, owner: Person, halves: list[Workload]
) -> None:
    """No quota is left beside it: what would fit waits behind what cannot be placed, and is told so, until Kueue gives
    up on that (waitForPodsReady, half an hour); then the small one starts, and the other is tried again behind it."""
    four = stage.submit(owner, name="four", flavor="h100", gpus=4, env=LONG)
    stage.run(5)
    one = stage.submit(owner, name="one", flavor="h100", gpus=1, env=LONG)
    stage.run(5)
    assert (stage.reason(four)[0], stage.reason(one)[0]) == ("starting", "queued")
    assert [selectors.explain(owner, one.pk)["blocker"][name] for name in ("needed", "available")] == [1, 0]
    stage.run(1800, step=30)
    stage.run(12, step=2)
    assert stage.reason(one) == ("running", "ready")
    state, reason = stage.reason(four)
    assert (state, reason) == ("queued", "evicted")
    assert "its pods were not ready in time" in selectors.message(stage.now(four), "en")
    assert preview(owner, gpus=1)["verdict"] == "starts_now"
    stage.run(180, step=10)
    assert stage.reason(four)[0] == "queued"
    assert selectors.explain(owner, four.pk)["position"] == {"queue": 1, "queue_length": 1, "cohort": 1}
    services.stop(owner, workload_id=one.pk)
    services.stop(owner, workload_id=halves[0].pk)
    stage.run(20)
    assert stage.reason(four) == ("running", "ready")


def test_what_fits_starts_beside_it(stage: Stage, owner: Person, halves: list[Workload]) -> None:
    small = stage.submit(owner, name="small", flavor="h100", gpus=1, env=LONG)
    stage.run(5)
    assert stage.reason(small) == ("running", "ready")


def test_more_than_the_largest_node_is_refused_with_its_size(owner: Person, halves: list[Workload]) -> None:
    with pytest.raises(Invalid) as refused:
        services.submit(owner, kind="training", data=jobs.request(flavor="h100", gpus=5))
    (fault,) = refused.value.errors
    assert (fault.field, fault.code) == ("gpus", "exceeds_maximum")
    assert "No node has more than 4 of flavor h100." in str(fault.message)
    assert preview(owner, gpus=5)["verdict"] == "never"


def test_lost_and_closed_nodes_have_no_room(stage: Stage, owner: Person, halves: list[Workload]) -> None:
    stage.control("PATCH", "/nodes/big-1", {"cordoned": True})
    stage.control("PATCH", "/nodes/big-2", {"cordoned": True})
    stage.settle()
    note = preview(owner, gpus=1)["note"]
    assert note["most_free"] == 0


def test_nodes_that_are_not_known_promise_nothing_either_way(owner: Person, stage: Stage, room: Lab) -> None:
    MirrorObject.objects.filter(kind="Node").delete()
    MirrorStream.objects.filter(kind="Node").update(synced_at=None)
    assert preview(owner, gpus=1)["note"] is None
