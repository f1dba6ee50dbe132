"""A Job under Kueue: waits suspended, is admitted, runs on the flavor's nodes, ends."""

from __future__ import annotations

from tests.cluster.simulated.controllers.conftest import Cluster, condition_list, queued_job, workload_of


def test_a_job_is_admitted_runs_and_finishes(lab: Cluster) -> None:
    job = lab.store.create(queued_job("train", 1))
    lab.run(5)
    running = lab.get("Job", "train")
    workload = workload_of(lab, job)
    assert workload["metadata"]["name"].startswith("job-train-")
    assert condition_list(workload) == [
        ("PodsReady", "True", "Started"),
        ("QuotaReserved", "True", "QuotaReserved"),
        ("Admitted", "True", "Admitted"),
    ]
    assert workload["status"]["admission"] == {
        "clusterQueue": "team-a",
        "podSetAssignments": [
            {
                "name": "main",
                "flavors": {"cpu": "cpu", "memory": "cpu", "nvidia.com/gpu": "h100"},
                "resourceUsage": {"cpu": "1", "memory": "1Gi", "nvidia.com/gpu": "1"},
                "count": 1,
            }
        ],
    }
    template = running["spec"]["template"]
    assert running["spec"]["suspend"] is False
    assert template["spec"]["nodeSelector"] == {"nvidia.com/gpu.product": "NVIDIA-H100-80GB-HBM3"}
    assert template["metadata"]["labels"]["kueue.x-k8s.io/cluster-queue-name"] == "team-a"
    assert lab.pods()[0]["spec"]["nodeName"] == "gpu-1"
    lab.run(15)
    done = workload_of(lab, job)
    assert condition_list(done)[-1] == ("Finished", "True", "Succeeded")
    assert done["status"]["conditions"][-1]["message"] == "Reached expected number of succeeded pods"
    assert "finalizers" not in done["metadata"]
    assert "admission" in done["status"]


def test_the_events_of_a_life_are_kueues(lab: Cluster) -> None:
    job = lab.store.create(queued_job("train", 1))
    lab.run(20)
    assert [reason for reason, _ in lab.events("train")] == [
        "Suspended",
        "CreatedWorkload",
        "Started",
        "Resumed",
        "SuccessfulCreate",
        "Completed",
        "FinishedWorkload",
    ]
    told = lab.events(workload_of(lab, job)["metadata"]["name"])
    assert [reason for reason, _ in told] == ["QuotaReserved", "Admitted"]
    assert told[0][1].startswith("Quota reserved in ClusterQueue team-a, wait time since queued was 0s")


def test_a_job_beyond_the_quota_waits_with_kueues_message(lab: Cluster) -> None:
    lab.store.create(queued_job("first", 3))
    lab.run(3)
    waiting = lab.store.create(queued_job("second", 1))
    lab.run(3)
    workload = workload_of(lab, waiting)
    assert condition_list(workload) == [("PodsReady", "False", "WaitForStart"), ("QuotaReserved", "False", "Pending")]
    assert workload["status"]["conditions"][1]["message"] == (
        "couldn't assign flavors to pod set main: insufficient unused quota for nvidia.com/gpu in flavor h100, "
        "1 more needed"
    )
    assert workload["status"]["resourceRequests"] == [
        {"name": "main", "resources": {"cpu": "1", "memory": "1Gi", "nvidia.com/gpu": "1"}}
    ]
    queue = lab.get("ClusterQueue", "team-a", None)["status"]
    assert (queue["pendingWorkloads"], queue["reservingWorkloads"], queue["admittedWorkloads"]) == (1, 1, 1)
    assert queue["flavorsReservation"][0] == {
        "name": "h100",
        "resources": [{"borrowed": "1", "name": "nvidia.com/gpu", "total": "3"}],
    }
    lab.run(20)
    assert lab.get("Job", "second")["spec"]["suspend"] is False


def test_asking_more_than_the_maximum_says_so(lab: Cluster) -> None:
    job = lab.store.create(queued_job("huge", 9))
    lab.run(2)
    assert workload_of(lab, job)["status"]["conditions"][1]["message"] == (
        "couldn't assign flavors to pod set main: insufficient quota for nvidia.com/gpu in flavor h100, previously "
        "considered podsets requests (0) + current podset request (9) > maximum capacity (3)"
    )


def test_a_missing_local_queue_is_named(lab: Cluster) -> None:
    job = lab.store.create(queued_job("lost", 1, labels={"kueue.x-k8s.io/queue-name": "nowhere"}))
    lab.run(2)
    told = workload_of(lab, job)["status"]["conditions"][1]
    assert (told["reason"], told["message"]) == ("Inadmissible", "LocalQueue nowhere doesn't exist")


def test_a_workload_waits_for_its_priority_class(lab: Cluster) -> None:
    job = lab.store.create(queued_job("train", 1, priority="low"))
    lab.run(1)
    assert workload_of(lab, job)["spec"]["priority"] == 10
    lab.store.mutate("WorkloadPriorityClass", None, "low", lambda found: found.update(value=20))
    lab.run(1)
    assert workload_of(lab, job)["spec"]["priority"] == 20
    lab.store.mutate(
        "Job",
        "team-a",
        "train",
        lambda found: found["metadata"]["labels"].update({"kueue.x-k8s.io/priority-class": "high"}),
    )
    lab.run(1)
    assert workload_of(lab, job)["spec"]["priorityClassRef"]["name"] == "high"
    assert workload_of(lab, job)["spec"]["priority"] == 1000


def test_a_job_unsuspended_by_hand_is_suspended_again(lab: Cluster) -> None:
    lab.store.create(queued_job("first", 3))
    lab.run(1)
    lab.store.create(queued_job("second", 1))
    lab.run(1)
    lab.store.mutate("Job", "team-a", "second", lambda found: found["spec"].update(suspend=False))
    lab.run(1)
    assert lab.get("Job", "second")["spec"]["suspend"] is True


def test_a_held_queue_admits_nobody_and_says_so(lab: Cluster) -> None:
    lab.store.mutate("ClusterQueue", None, "team-a", lambda found: found["spec"].update(stopPolicy="Hold"))
    job = lab.store.create(queued_job("train", 1))
    lab.run(2)
    told = workload_of(lab, job)["status"]["conditions"][1]
    assert (told["reason"], told["message"]) == ("Inadmissible", "ClusterQueue team-a is inactive")
    assert condition_list(lab.get("ClusterQueue", "team-a", None)) == [("Active", "False", "Stopped")]
    assert condition_list(lab.get("LocalQueue", "main")) == [("Active", "False", "ClusterQueueIsInactive")]
    lab.store.mutate("ClusterQueue", None, "team-a", lambda found: found["spec"].update(stopPolicy="None"))
    lab.run(3)
    assert lab.get("Job", "train")["spec"]["suspend"] is False


def test_a_queue_without_its_flavor_is_inactive(lab: Cluster) -> None:
    lab.store.mutate("ResourceFlavor", None, "h100", lambda found: found["metadata"].update(finalizers=[]))
    lab.store.delete("ResourceFlavor", None, "h100")
    lab.run(1)
    told = lab.get("ClusterQueue", "team-a", None)["status"]["conditions"][0]
    assert (told["reason"], told["message"]) == (
        "FlavorNotFound",
        "Can't admit new workloads: references missing ResourceFlavor(s): h100.",
    )


def test_deleting_a_job_gives_its_quota_back(lab: Cluster) -> None:
    lab.store.create(queued_job("first", 3))
    lab.run(3)
    lab.store.create(queued_job("second", 3))
    lab.run(1)
    lab.store.delete("Job", "team-a", "first")
    lab.run(5)
    assert lab.get("Job", "second")["spec"]["suspend"] is False
    assert len(lab.store.list("Workload", "team-a")) == 1


def test_a_restart_forgets_nothing(lab: Cluster) -> None:
    lab.store.create(queued_job("first", 3))
    lab.run(3)
    lab.store.create(queued_job("second", 1))
    lab.run(1)
    before = lab.store.rv
    lab.restart()
    assert lab.store.rv == before
    lab.run(20)
    assert lab.get("Job", "second")["spec"]["suspend"] is False


def test_a_deadline_deactivates_the_workload(lab: Cluster) -> None:
    job = lab.store.create(
        queued_job("long", 1, env={"TURNO_SIM_SECONDS": "100"}, labels={"kueue.x-k8s.io/max-exec-time-seconds": "10"})
    )
    lab.run(15)
    workload, reason = workload_of(lab, job), "DeactivatedDueToMaximumExecutionTimeExceeded"
    assert workload["spec"]["active"] is False
    assert condition_list(workload) == [
        ("PodsReady", "False", "WaitForStart"),
        ("QuotaReserved", "False", "Pending"),
        ("Evicted", "True", reason),
        ("Admitted", "False", "NoReservation"),
        ("Requeued", "False", reason),
        ("DeactivationTarget", "True", "MaximumExecutionTimeExceeded"),
    ]
    assert lab.get("Job", "long")["spec"]["suspend"] is True
    assert lab.pods() == []


def test_kueue_can_be_stopped_and_comes_back(lab: Cluster) -> None:
    lab.manager.run_kueue(runs=False)
    job = lab.store.create(queued_job("train", 1))
    lab.run(5)
    assert lab.store.list("Workload") == []
    lab.manager.run_kueue(runs=True)
    lab.run(2)
    assert condition_list(workload_of(lab, job))[-1] == ("Admitted", "True", "Admitted")
