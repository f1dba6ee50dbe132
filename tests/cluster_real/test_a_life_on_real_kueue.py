"""From request to end on the real Kueue: what the user is told is what Kueue's and the pods' conditions say."""

from __future__ import annotations

import json
import urllib.request
from datetime import datetime
from typing import Any

import pytest

from portal.cluster.port import ObjectRef
from portal.kernel.actors import System
from quotas.models import Allocation
from quotas.services import put_quota
from tests.cluster_real.stage import SOON, RealStage, is_true
from tests.faults.client import SHORT, Client, Submitted
from tests.tooling.processes import wait_until
from tests.tooling.stories import the_day_holds

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(400)]

INDEX = "batch.kubernetes.io/job-completion-index"
CARD: dict[str, Any] = {"flavor": "h100", "gpus": 1}


def ends(word: str, seconds: int = 2) -> dict[str, dict[str, str]]:
    return {"env": {"TURNO_SIM_SECONDS": str(seconds), "TURNO_SIM_EXIT": word}}


def gone(stage: RealStage, *workloads: Submitted) -> None:
    """Deleted, and nothing of them is left on the cluster."""
    for one in workloads:
        one.delete()
    for one in workloads:
        one.until("deleted", within=SOON)
        for kind in (
            "Job",
            "StatefulSet",
            "Deployment",
            "Service",
            "Secret",
            "HTTPRoute",
            "PersistentVolumeClaim",
            "Pod",
        ):
            wait_until(lambda k=kind, o=one: not stage.of(o, k), f"no {kind} of {one.name} is left", SOON)


def two_for_one_card(client: Client, name: str) -> tuple[Submitted, Submitted]:
    """One notebook that holds the team's card, and one that came later."""
    first = client.submit("notebook", f"{name}-a", **CARD)
    first.until("running", within=SOON)
    return first, client.submit("notebook", f"{name}-b", **CARD)


def allocations(workload: Submitted) -> list[Allocation]:
    return list(Allocation.objects.filter(workload_id=workload.id, resource__contains="nvidia").order_by("admitted_at"))


def test_a_job_runs_and_ends_and_its_times_are_the_clusters(stage: RealStage, luis: Client, name: str) -> None:
    job = luis.submit("training", name, env=SHORT)

    job.until("running", within=SOON)
    [kueue] = stage.kueue_workloads(job)
    reserved = next(one for one in kueue["status"]["conditions"] if one["type"] == "QuotaReserved")
    told = job.until("succeeded", within=SOON)

    assert told["exit_code"] == 0
    assert is_true(stage.one(job, "Job"), "Complete")
    admitted = Allocation.objects.filter(workload_id=job.id).first()
    assert admitted is not None
    assert admitted.admitted_at == datetime.fromisoformat(reserved["lastTransitionTime"])
    wait_until(lambda: not job.now()["quota_held"], "the quota is given back", SOON)
    gone(stage, job)


@pytest.mark.parametrize(
    ("word", "reason", "code"),
    [
        ("3", "exit_code", 3),
        ("oom", "out_of_memory", 137),
        ("image", "image_cannot_be_pulled", None),
        ("evict", "pod_evicted", None),
    ],
)
def test_a_job_that_fails_says_how(
    stage: RealStage, luis: Client, name: str, word: str, reason: str, code: int | None
) -> None:
    job = luis.submit("training", name, **ends(word))

    told = job.until("failed", within=SOON)

    assert (told["reason"], told["exit_code"]) == (reason, code)
    wait_until(lambda: not job.now()["quota_held"], "the quota is given back", SOON)
    gone(stage, job)


def test_what_a_container_wrote_is_kept(stage: RealStage, luis: Client, name: str) -> None:
    job = luis.submit("training", name, env=SHORT)
    job.until("succeeded", within=SOON)

    wait_until(lambda: "KWOK" in luis.call("GET", f"{job.path}logs/").text, "the log is there", SOON)
    gone(stage, job)


def test_several_pods_are_one_admission(stage: RealStage, luis: Client, name: str) -> None:
    job = luis.submit("training", name, framework="indexed", nodes=3, env=SHORT)

    told = job.until("running", within=SOON)
    assert (told["nodes"], told["nodes_admitted"]) == (3, 3)
    assert len(stage.kueue_workloads(job)) == 1
    assert sorted(
        one["metadata"]["annotations"]["batch.kubernetes.io/job-completion-index"] for one in stage.of(job, "Pod")
    ) == ["0", "1", "2"]
    job.until("succeeded", within=SOON)
    gone(stage, job)


def test_fewer_pods_than_asked_are_admitted_where_that_was_allowed(stage: RealStage, luis: Client, name: str) -> None:
    slices: dict[str, Any] = {"flavor": "h100-1g", "gpus": 1, "framework": "indexed"}
    first = luis.submit("training", f"{name}-a", nodes=2, **slices)
    first.until("running", within=SOON)

    second = luis.submit("training", f"{name}-b", nodes=4, min_nodes=1, **slices)
    told = second.until("running", within=SOON)

    assert (told["nodes"], told["nodes_admitted"]) == (4, 2)
    assert stage.one(second, "Job")["spec"]["parallelism"] == 2
    gone(stage, first, second)


def test_a_notebook_is_stopped_and_started_and_keeps_its_home(stage: RealStage, luis: Client, name: str) -> None:
    book = luis.submit("notebook", name)
    book.until("running", within=SOON)
    home = stage.one(book, "PersistentVolumeClaim")["metadata"]["uid"]
    assert stage.admitted(book)

    assert book.do("stop") == 202
    told = book.until("stopped", within=SOON)
    assert not told["quota_held"]
    assert not stage.of(book, "StatefulSet")

    assert book.do("start") == 202
    assert book.until("running", within=SOON)["run"] == 2
    assert stage.one(book, "PersistentVolumeClaim")["metadata"]["uid"] == home
    gone(stage, book)


def test_an_endpoint_serves_and_holds_what_its_replicas_need(stage: RealStage, name: str) -> None:
    diego = stage.client("diego")
    served = diego.submit("endpoint", name, min_replicas=2, max_replicas=2)

    told = served.until("running", within=SOON)
    wait_until(lambda: served.now()["replicas"] == {"desired": 2, "ready": 2, "queued": 0}, "both are ready", SOON)
    assert len(stage.kueue_workloads(served)) == 2
    key = diego.call("GET", f"{served.path}key/").json["key"]
    asked = urllib.request.Request(f"{told['endpoint_url']}/models", headers={"Authorization": f"Bearer {key}"})
    with urllib.request.urlopen(asked, timeout=10) as answer:
        assert json.load(answer)["data"]

    changed = diego.call("PATCH", served.path, {"min_replicas": 1, "max_replicas": 1})
    assert changed.status == 200, changed.text
    wait_until(
        lambda: served.now()["replicas"]["desired"] == 1 and len(stage.of(served, "Pod")) == 1, "one is left", SOON
    )
    gone(stage, served)


def test_work_waits_for_quota_in_kueues_words_and_then_runs(stage: RealStage, luis: Client, name: str) -> None:
    first, second = two_for_one_card(luis, name)

    told = second.until("queued", reason="waiting_for_quota", within=SOON)
    assert not told["quota_held"]
    assert told["position"] == 1
    why = luis.call("GET", f"{second.path}explain/").json["blocker"]
    assert (why["flavor"], why["resource"]) == ("h100", "nvidia.com/gpu")

    first.do("stop")
    second.until("running", within=SOON)
    gone(stage, first, second)


def test_a_higher_priority_takes_the_card_and_the_work_comes_back(stage: RealStage, luis: Client, name: str) -> None:
    low = luis.submit("training", f"{name}-low", priority="low", **CARD)
    low.until("running", within=SOON)

    high = stage.client("ana").submit(
        "training", f"{name}-high", priority="high", **CARD, env={"TURNO_SIM_SECONDS": "8"}
    )
    told = low.until("queued", "submitted", reason="preempted", within=SOON)
    assert told["run"] == 1
    high.until("running", within=SOON)
    [held] = [one for one in allocations(low) if one.released_at is not None]
    assert held.why

    high.until("succeeded", within=SOON)
    back = low.until("running", within=SOON)
    assert (back["run"], back["preemptions"]) == (1, 1)
    assert [one.released_at is None for one in allocations(low)] == [False, True]
    gone(stage, low, high)


def test_a_team_takes_back_what_it_lent(stage: RealStage, luis: Client, pablo: Client, name: str) -> None:
    wide = pablo.submit("training", f"{name}-wide", flavor="h100", gpus=2)
    wide.until("running", within=SOON)
    figures = {one["flavor"]: one for one in pablo.call("GET", "/tenants/training/quota/").json}
    assert (figures["h100"]["held"], figures["h100"]["borrowed"]) == (2, 1)

    book = luis.submit("notebook", f"{name}-book", **CARD)
    told = wide.until("queued", "submitted", reason="preempted", within=SOON)
    assert "the owner took lent quota back" in told["message"]
    book.until("running", within=SOON)
    [lost] = [one for one in allocations(wide) if one.released_at is not None]
    assert (lost.why, lost.by, lost.units) == ("preempted", "another team", 2)

    gone(stage, book)
    wide.until("running", within=SOON)
    gone(stage, wide)


def test_a_deadline_ends_a_job(stage: RealStage, luis: Client, name: str) -> None:
    job = luis.submit("training", name, max_duration=5)
    job.until("running", within=SOON)

    job.until("failed", reason="deadline_exceeded", within=SOON)
    gone(stage, job)


def test_a_quota_that_grows_lets_the_waiting_run(stage: RealStage, luis: Client, name: str) -> None:
    first, second = two_for_one_card(luis, name)
    second.until("queued", reason="waiting_for_quota", within=SOON)
    try:
        cards_of_data(stage, 2)
        second.until("running", within=SOON)
    finally:
        gone(stage, first, second)
        cards_of_data(stage, 1)


def test_work_that_a_smaller_quota_can_never_run_says_so(stage: RealStage, luis: Client, name: str) -> None:
    first, second = two_for_one_card(luis, name)
    second.until("queued", reason="waiting_for_quota", within=SOON)
    try:
        cards_of_data(stage, 0)
        second.until("queued", reason="exceeds_maximum", within=SOON)
        assert first.now()["state"] == "running"
    finally:
        cards_of_data(stage, 1)
        gone(stage, second, first)


def cards_of_data(stage: RealStage, count: int) -> None:
    """So many whole cards for the team `data`, as an administrator sets them; returns when Kueue's queue has them."""
    limits: dict[str, Any] = {"borrowing_limit": 0, "lending_limit": None}
    put_quota(System("suite"), tenant="data", flavor="h100", nominal=count, **limits)
    wait_until(lambda: nominal(stage) == str(count), f"the queue has {count} cards", SOON)


def nominal(stage: RealStage) -> str:
    queue = stage.gateway.get(ObjectRef("ClusterQueue", "turno-data"))
    assert queue is not None
    flavors = [one for group in queue["spec"]["resourceGroups"] for one in group["flavors"]]
    [cards] = [one for one in flavors if one["name"] == "turno-h100"]
    return str(next(one["nominalQuota"] for one in cards["resources"] if one["name"] == "nvidia.com/gpu"))


def test_a_team_that_is_held_admits_nothing_new(stage: RealStage, luis: Client, name: str) -> None:
    admin = stage.client("admin")
    first, second = two_for_one_card(luis, name)
    second.until("queued", within=SOON)
    try:
        assert admin.call("PATCH", "/tenants/data/", {"state": "suspended"}).status == 200
        second.until("queued", reason="queue_stopped", within=SOON)
        assert first.now()["state"] == "running"
        assert luis.post("training", f"{name}-late").status == 403
    finally:
        assert admin.call("PATCH", "/tenants/data/", {"state": "active"}).status == 200
    first.do("stop")
    second.until("running", within=SOON)
    gone(stage, first, second)


@pytest.mark.parametrize("kind", ["training", "notebook", "endpoint"])
def test_what_is_stopped_leaves_nothing_running_and_starts_again(stage: RealStage, name: str, kind: str) -> None:
    diego = stage.client("diego")
    one = diego.submit(kind, name)
    one.until("running", within=SOON)

    one.do("stop")
    one.until("stopped", within=SOON)
    wait_until(lambda: not stage.of(one, "Pod"), "no pod is left", SOON)
    assert not stage.kueue_workloads(one)

    one.do("start")
    assert one.until("running", within=SOON)["run"] == 2
    gone(stage, one)


def test_what_is_deleted_in_any_state_is_gone(stage: RealStage, luis: Client, name: str) -> None:
    book = luis.submit("notebook", f"{name}-runs", **CARD)
    book.until("running", within=SOON)
    waits = luis.submit("training", f"{name}-waits", **CARD)
    waits.until("queued", within=SOON)
    over = luis.submit("training", f"{name}-over", env={"TURNO_SIM_SECONDS": "1"})
    over.until("succeeded", within=SOON)
    failed = luis.submit("training", f"{name}-failed", **ends("1", 1))
    failed.until("failed", within=SOON)
    stopped = luis.submit("notebook", f"{name}-stopped")
    stopped.until("running", within=SOON)
    stopped.do("stop")
    fresh = luis.submit("training", f"{name}-fresh")

    gone(stage, waits, over, failed, stopped, fresh, book)


def test_the_four_gpu_day_as_it_is_told_to_the_simulated_cluster(stage: RealStage) -> None:
    the_day_holds(stage.places.credentials)
