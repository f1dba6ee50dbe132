"""Preemption and eviction: the victim's six updates, quota held until its pods are gone, and back in the queue."""

from __future__ import annotations

from typing import Any

from portal.cluster.simulated.objects import Obj
from tests.cluster.simulated.controllers.conftest import Cluster, condition_list, queued_job, workload_of

LONG: dict[str, Any] = {"env": {"TURNO_SIM_SECONDS": "600"}}


def borrow_and_reclaim(lab: Cluster) -> tuple[Obj, Obj]:
    """team-a borrows team-b's card, team-b takes it back."""
    borrower = lab.store.create(queued_job("borrower", 3, priority="low", **LONG))
    lab.run(5)
    owner = lab.store.create(queued_job("owner", 1, namespace="team-b", priority="high", **LONG))
    return borrower, owner


def test_the_victim_goes_through_kueues_updates_in_their_order(lab: Cluster) -> None:
    changes = lab.record("Workload")
    borrower, owner = borrow_and_reclaim(lab)
    del changes[:]
    lab.run(8)
    name = workload_of(lab, borrower)["metadata"]["name"]
    seen = [condition_list(change.object) for change in changes if change.name == name]
    held = [
        ("QuotaReserved", "True", "QuotaReserved"),
        ("Evicted", "True", "Preempted"),
        ("Admitted", "True", "Admitted"),
    ]
    given = [
        ("QuotaReserved", "False", "Pending"),
        ("Evicted", "True", "Preempted"),
        ("Admitted", "False", "NoReservation"),
        ("Preempted", "True", "InCohortReclamation"),
        ("Requeued", "True", "Preempted"),
    ]
    assert seen[0] == [("PodsReady", "True", "Started"), *held, ("Preempted", "True", "InCohortReclamation")]
    assert [("PodsReady", "False", "WaitForRecovery"), *held, ("Preempted", "True", "InCohortReclamation")] in seen
    assert [("PodsReady", "False", "WaitForRecovery"), *given] in seen
    assert seen[-1] == [("PodsReady", "False", "WaitForStart"), *given]
    workload, by = workload_of(lab, borrower), workload_of(lab, owner)
    uids = f"UID: {by['metadata']['uid']}, JobUID: {owner['metadata']['uid']}"
    message = (
        f"Preempted to accommodate a workload ({uids}) due to "
        "reclamation within the cohort; preemptor path: /lab/team-b; preemptee path: /lab/team-a"
    )
    told = {one["type"]: one["message"] for one in workload["status"]["conditions"]}
    assert told["Evicted"] == told["Preempted"] == told["Requeued"] == message
    assert told["QuotaReserved"].endswith("insufficient unused quota for nvidia.com/gpu in flavor h100, 1 more needed")
    assert workload["status"]["schedulingStats"] == {
        "evictions": [{"count": 1, "reason": "Preempted", "underlyingCause": ""}]
    }
    assert workload["status"]["accumulatedPastExecutionTimeSeconds"] == 5
    assert ("EvictedDueToPreempted", message) in lab.events(name)
    priorities = "preemptor effective priority: 1000 (base: 1000, boost: 0); "
    priorities += "preemptee effective priority: 10 (base: 10, boost: 0)"
    assert ("Preempted", f"{message}; {priorities}") in lab.events(name)


def test_the_victims_job_is_as_before_its_start(lab: Cluster) -> None:
    borrower, _ = borrow_and_reclaim(lab)
    lab.run(8)
    job = lab.get("Job", "borrower")
    assert job["spec"]["suspend"] is True
    assert job["spec"]["template"] == borrower["spec"]["template"]
    assert condition_list(job) == [("Suspended", "True", "JobSuspended")]
    assert "failed" not in job["status"]
    assert lab.pods() == []


def test_quota_is_free_before_the_card_is(lab: Cluster) -> None:
    borrow_and_reclaim(lab)
    lab.manager.tick()
    (pod,) = lab.store.list("Pod", "team-b")
    assert "nodeName" not in pod["spec"]
    assert ("FailedScheduling" in [reason for reason, _ in lab.events(pod["metadata"]["name"])]) is True
    assert "deletionTimestamp" in lab.pods()[0]["metadata"]
    lab.run(3)
    (pod,) = lab.store.list("Pod", "team-b")
    assert pod["status"]["phase"] == "Running"


def test_a_victim_that_is_admitted_again_keeps_its_story(lab: Cluster) -> None:
    borrower, _ = borrow_and_reclaim(lab)
    lab.run(8)
    lab.store.delete("Job", "team-b", "owner")
    lab.run(10)
    conditions = {one["type"]: one for one in workload_of(lab, borrower)["status"]["conditions"]}
    assert conditions["QuotaReserved"]["status"] == "True"
    assert conditions["Evicted"]["status"] == "False"
    assert conditions["Evicted"]["message"].startswith("Previously: Preempted to accommodate")
    assert lab.get("Job", "borrower")["spec"]["suspend"] is False


def test_higher_priority_in_the_same_queue_preempts(lab: Cluster) -> None:
    low = lab.store.create(queued_job("low", 2, priority="low", **LONG))
    lab.run(5)
    lab.store.create(queued_job("high", 2, priority="high", **LONG))
    lab.run(8)
    assert condition_list(workload_of(lab, low))[4] == ("Preempted", "True", "InClusterQueue")
    assert lab.get("Job", "high")["spec"]["suspend"] is False


def test_a_deactivated_workload_stops_and_does_not_come_back_until_it_is_active(lab: Cluster) -> None:
    job = lab.store.create(queued_job("train", 1, **LONG))
    lab.run(5)
    name = workload_of(lab, job)["metadata"]["name"]
    lab.store.mutate("Workload", "team-a", name, lambda found: found["spec"].update(active=False))
    lab.run(5)
    workload = workload_of(lab, job)
    assert condition_list(workload) == [
        ("PodsReady", "False", "WaitForStart"),
        ("QuotaReserved", "False", "Pending"),
        ("Evicted", "True", "Deactivated"),
        ("Admitted", "False", "NoReservation"),
        ("Requeued", "False", "Deactivated"),
    ]
    assert {one["message"] for one in workload["status"]["conditions"][1:3]} == {"The workload is deactivated"}
    lab.store.mutate("Workload", "team-a", name, lambda found: found["spec"].update(active=True))
    lab.run(5)
    assert ("Requeued", "True", "Reactivated") in condition_list(workload_of(lab, job))
    assert lab.get("Job", "train")["spec"]["suspend"] is False


def test_draining_a_queue_evicts_what_runs_in_it(lab: Cluster) -> None:
    job = lab.store.create(queued_job("train", 1, **LONG))
    lab.run(5)
    lab.store.mutate("ClusterQueue", None, "team-a", lambda found: found["spec"].update(stopPolicy="HoldAndDrain"))
    lab.run(5)
    workload = workload_of(lab, job)
    assert ("Evicted", "True", "ClusterQueueStopped") in condition_list(workload)
    assert ("QuotaReserved", "False", "Inadmissible") in condition_list(workload)
    assert lab.pods() == []


def test_draining_a_local_queue_evicts_what_runs_in_it(lab: Cluster) -> None:
    job = lab.store.create(queued_job("train", 1, **LONG))
    lab.run(5)
    lab.store.mutate("LocalQueue", "team-a", "main", lambda found: found["spec"].update(stopPolicy="HoldAndDrain"))
    lab.run(5)
    assert ("Evicted", "True", "LocalQueueStopped") in condition_list(workload_of(lab, job))
    assert lab.get("Job", "train")["spec"]["suspend"] is True
    lab.store.mutate("LocalQueue", "team-a", "main", lambda found: found["spec"].update(stopPolicy="None"))
    lab.run(5)
    assert lab.get("Job", "train")["spec"]["suspend"] is False


def test_an_eviction_survives_a_restart_half_way(lab: Cluster) -> None:
    borrow_and_reclaim(lab)
    lab.manager.admission.reconcile("", "")
    lab.restart()
    lab.run(8)
    assert lab.get("Job", "borrower")["spec"]["suspend"] is True
    (pod,) = lab.store.list("Pod", "team-b")
    assert pod["status"]["phase"] == "Running"
