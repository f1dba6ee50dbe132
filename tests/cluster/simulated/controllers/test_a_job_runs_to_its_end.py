"""Jobs outside Kueue: pods, counts, conditions, events, logs."""

from __future__ import annotations

from tests.cluster.simulated.controllers.conftest import Cluster, condition_list, job


def test_a_job_completes_after_fifteen_seconds(cluster: Cluster) -> None:
    cluster.store.create(job("train"))
    cluster.run(5)
    (pod,) = cluster.pods()
    assert pod["metadata"]["name"].startswith("train-")
    assert pod["status"]["phase"] == "Running"
    assert cluster.get("Job", "train")["status"]["ready"] == 1
    cluster.run(15)
    done = cluster.get("Job", "train")
    assert condition_list(done) == [
        ("SuccessCriteriaMet", "True", "CompletionsReached"),
        ("Complete", "True", "CompletionsReached"),
    ]
    assert done["status"]["succeeded"] == 1
    assert "active" not in done["status"]
    assert cluster.pods()[0]["status"]["phase"] == "Succeeded"
    assert "finalizers" not in cluster.pods()[0]["metadata"]
    assert [reason for reason, _ in cluster.events("train")] == ["SuccessfulCreate", "Completed"]
    assert cluster.said(pod)[-1].startswith("Training finished")


def test_a_job_that_exits_with_a_code_fails(cluster: Cluster) -> None:
    cluster.store.create(job("train", env={"TURNO_SIM_EXIT": "3", "TURNO_SIM_SECONDS": "2"}))
    cluster.run(6)
    done = cluster.get("Job", "train")
    assert condition_list(done) == [
        ("FailureTarget", "True", "BackoffLimitExceeded"),
        ("Failed", "True", "BackoffLimitExceeded"),
    ]
    (pod,) = cluster.pods()
    assert pod["status"]["containerStatuses"][0]["state"]["terminated"]["exitCode"] == 3


def test_a_failed_pod_is_tried_again_while_the_limit_allows(cluster: Cluster) -> None:
    cluster.store.create(job("train", env={"TURNO_SIM_EXIT": "1", "TURNO_SIM_SECONDS": "1"}, backoffLimit=1))
    cluster.run(8)
    assert len(cluster.pods()) == 1
    cluster.run(20)
    assert len(cluster.pods()) == 2
    assert cluster.get("Job", "train")["status"]["failed"] == 2


def test_a_suspended_job_has_no_pods_until_it_is_resumed(cluster: Cluster) -> None:
    cluster.store.create(job("train", suspend=True))
    cluster.run(3)
    assert cluster.pods() == []
    assert condition_list(cluster.get("Job", "train")) == [("Suspended", "True", "JobSuspended")]

    def resume(stored: dict[str, object]) -> None:
        stored["spec"]["suspend"] = False  # type: ignore[index]

    cluster.store.mutate("Job", "team-a", "train", resume)
    cluster.run(3)
    assert len(cluster.pods()) == 1
    assert condition_list(cluster.get("Job", "train"))[0] == ("Suspended", "False", "JobResumed")


def test_an_indexed_job_has_one_pod_for_each_index(cluster: Cluster) -> None:
    cluster.store.create(job("multi", completionMode="Indexed", parallelism=3, completions=3))
    cluster.run(5)
    pods = cluster.pods()
    assert sorted(pod["metadata"]["name"].rsplit("-", 1)[0] for pod in pods) == ["multi-0", "multi-1", "multi-2"]
    assert {pod["spec"]["hostname"] for pod in pods} == {"multi-0", "multi-1", "multi-2"}
    assert "JOB_COMPLETION_INDEX" in [variable["name"] for variable in pods[0]["spec"]["containers"][0]["env"]]
    cluster.run(15)
    assert cluster.get("Job", "multi")["status"]["completedIndexes"] == "0-2"


def test_out_of_memory_is_exit_137_with_its_reason(cluster: Cluster) -> None:
    cluster.store.create(job("big", env={"TURNO_SIM_EXIT": "oom", "TURNO_SIM_SECONDS": "1"}))
    cluster.run(5)
    ended = cluster.pods()[0]["status"]["containerStatuses"][0]["state"]["terminated"]
    assert (ended["reason"], ended["exitCode"]) == ("OOMKilled", 137)


def test_an_image_that_is_not_there_keeps_the_pod_waiting(cluster: Cluster) -> None:
    cluster.store.create(job("typo", env={"TURNO_SIM_EXIT": "image"}))
    cluster.run(60)
    (pod,) = cluster.pods()
    assert pod["status"]["phase"] == "Pending"
    assert pod["status"]["containerStatuses"][0]["state"]["waiting"]["reason"] == "ImagePullBackOff"
    assert ("Failed", "Error: ErrImagePull") in cluster.events(pod["metadata"]["name"])


def test_an_evicted_pod_says_why(cluster: Cluster) -> None:
    cluster.store.create(job("heavy", env={"TURNO_SIM_EXIT": "evict", "TURNO_SIM_SECONDS": "1"}))
    cluster.run(5)
    (pod,) = cluster.pods()
    assert (pod["status"]["phase"], pod["status"]["reason"]) == ("Failed", "Evicted")
    assert "The node was low on resource" in pod["status"]["message"]


def test_a_deleted_job_takes_its_pods_along(cluster: Cluster) -> None:
    cluster.store.create(job("train"))
    cluster.run(5)
    cluster.store.delete("Job", "team-a", "train")
    cluster.manager.tick()
    assert "deletionTimestamp" in cluster.pods()[0]["metadata"]
    cluster.run(2)
    assert cluster.pods() == []


def test_a_pod_that_somebody_deletes_counts_as_failed(cluster: Cluster) -> None:
    cluster.store.create(job("train"))
    cluster.run(5)
    cluster.store.delete("Pod", "team-a", cluster.pods()[0]["metadata"]["name"])
    cluster.run(3)
    assert ("Failed", "True", "BackoffLimitExceeded") in condition_list(cluster.get("Job", "train"))


def test_a_restart_of_the_cluster_loses_no_time(cluster: Cluster) -> None:
    cluster.store.create(job("train"))
    cluster.run(8)
    said = cluster.said(cluster.pods()[0])
    cluster.restart()
    assert cluster.said(cluster.pods()[0]) == said
    cluster.run(9)
    assert ("Complete", "True", "CompletionsReached") in condition_list(cluster.get("Job", "train"))


def test_no_node_has_room_for_five_gpus(cluster: Cluster) -> None:
    cluster.store.create(job("huge", gpus=5))
    cluster.run(2)
    (pod,) = cluster.pods()
    (scheduled,) = [one for one in pod["status"]["conditions"] if one["type"] == "PodScheduled"]
    assert (scheduled["status"], scheduled["reason"]) == ("False", "Unschedulable")
    assert scheduled["message"].startswith("0/2 nodes are available: 2 Insufficient nvidia.com/gpu.")
