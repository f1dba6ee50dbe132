"""What the control endpoint changes, and what it refuses."""

from __future__ import annotations

import base64
from datetime import datetime
from typing import Any

import orjson
import pytest

from portal.cluster.simulated.control import Control
from portal.cluster.simulated.exchange import Request
from tests.cluster.simulated.controllers.conftest import Cluster, condition_list, job, queued_job, workload_of
from tests.cluster.simulated.controllers.test_kueue_gates_pods import stateful_set

LONG: dict[str, Any] = {"env": {"TURNO_SIM_SECONDS": "600"}}


def call(cluster: Cluster, method: str, path: str, body: Any = None) -> tuple[int, Any]:
    raw = b"" if body is None else orjson.dumps(body)
    answer = Control(cluster.manager).answer(Request(method, path, {}, {}, raw))
    cluster.manager.tick()
    return answer.status, answer.document


def test_speed_shortens_delays_and_survives_a_restart(cluster: Cluster) -> None:
    assert call(cluster, "PUT", "/speed", {"speed": 10}) == (200, {"speed": 10.0})
    cluster.restart()
    cluster.store.create(job("train"))
    cluster.run(2)
    assert ("Complete", "True", "CompletionsReached") in condition_list(cluster.get("Job", "train"))


@pytest.mark.parametrize("offset", [-90, 600])
def test_the_clusters_clock_can_be_wrong(lab: Cluster, offset: int) -> None:
    lab.store.create(queued_job("train", 1))
    lab.run(6)
    assert call(lab, "PUT", "/clock", {"offset_seconds": offset}) == (200, {"offset_seconds": offset})
    lab.run(12)
    done = lab.get("Job", "train")
    assert ("Complete", "True", "CompletionsReached") in condition_list(done)
    ended = datetime.fromisoformat(done["status"]["completionTime"])
    assert abs((ended - lab.now).total_seconds() - offset) < 10
    lab.restart()
    later = lab.store.create(job("later"))
    created = datetime.fromisoformat(later["metadata"]["creationTimestamp"])
    assert (created - lab.now).total_seconds() == offset


def test_a_running_pod_ends_as_told(cluster: Cluster) -> None:
    cluster.store.create(job("train", **LONG))
    cluster.run(3)
    status, said = call(cluster, "POST", "/pods/team-a/train/end", {"exit": "42"})
    assert (status, len(said["pods"])) == (200, 1)
    ended = cluster.pods()[0]["status"]["containerStatuses"][0]["state"]["terminated"]
    assert ended["exitCode"] == 42
    assert "simulated.turno.dev/now" not in cluster.pods()[0]["metadata"]["annotations"]


@pytest.mark.parametrize(
    ("said", "code", "reason", "phase", "why"),
    [
        ({"exit": "0", "reason": "OOMKilled"}, 0, "OOMKilled", "Succeeded", None),
        ({"exit": "137"}, 137, "Error", "Failed", None),
        ({"exit": "evict", "code": 0, "reason": "Completed"}, 0, "Completed", "Failed", "Evicted"),
    ],
)
def test_an_end_can_be_as_odd_as_real_ones(
    cluster: Cluster, said: dict[str, Any], code: int, reason: str, phase: str, why: str | None
) -> None:
    cluster.store.create(job("train", **LONG))
    cluster.run(3)
    call(cluster, "POST", "/pods/team-a/train/end", said)
    status = cluster.pods()[0]["status"]
    ended = status["containerStatuses"][0]["state"]["terminated"]
    assert (ended["exitCode"], ended["reason"], status["phase"], status.get("reason")) == (code, reason, phase, why)


def test_one_pod_of_several_can_be_ended(cluster: Cluster) -> None:
    cluster.store.create(job("multi", completionMode="Indexed", parallelism=4, completions=4, backoffLimit=9, **LONG))
    cluster.run(3)
    assert len(call(cluster, "POST", "/pods/team-a/multi-3/end", {"exit": "oom"})[1]["pods"]) == 1
    assert [pod["status"]["phase"] for pod in cluster.pods()].count("Running") == 3


def test_a_rule_makes_a_service_crash_again_and_again(cluster: Cluster) -> None:
    rule = {"namespace": "team-a", "name": "nb", "does": {"exit": "1", "seconds": 1}}
    assert call(cluster, "POST", "/rules", rule)[0] == 200
    plain = stateful_set("nb", gpus=0)
    plain["metadata"]["labels"] = {}
    cluster.store.create(plain)
    cluster.run(8)
    status = cluster.get("Pod", "nb-0")["status"]["containerStatuses"][0]
    assert status["restartCount"] == 1
    assert status["state"]["waiting"]["reason"] == "CrashLoopBackOff"
    assert status["lastState"]["terminated"]["exitCode"] == 1
    call(cluster, "PUT", "/rules", {"rules": []})
    cluster.run(15)
    assert cluster.get("Pod", "nb-0")["status"]["phase"] == "Running"


def test_a_pod_that_is_slow_to_die_takes_its_grace_period(cluster: Cluster) -> None:
    call(cluster, "POST", "/rules", {"does": {"grace_seconds": 60}})
    cluster.store.create(job("train", **LONG))
    cluster.run(3)
    cluster.store.delete("Job", "team-a", "train")
    cluster.run(29)
    assert len(cluster.pods()) == 1
    cluster.run(2)
    assert cluster.pods() == []


def test_a_container_writes_any_bytes(cluster: Cluster) -> None:
    cluster.store.create(job("train", **LONG))
    cluster.run(3)
    raw = b"\xff\xfe broken \x00\n"
    assert call(cluster, "POST", "/pods/team-a/train/log", {"base64": base64.b64encode(raw).decode()})[0] == 200
    pod = cluster.pods()[0]
    assert cluster.logs.read(pod["metadata"]["uid"], "main", 0)[0][-1].text == raw


def test_a_workload_is_preempted_on_command(lab: Cluster) -> None:
    victim = lab.store.create(queued_job("victim", 1, **LONG))
    by = lab.store.create(queued_job("other", 1, **LONG))
    lab.run(3)
    name = workload_of(lab, by)["metadata"]["name"]
    assert call(lab, "POST", "/workloads/team-a/victim/preempt", {"by": f"team-a/{name}"})[0] == 200
    told = {one["type"]: one["message"] for one in workload_of(lab, victim)["status"]["conditions"]}
    assert workload_of(lab, by)["metadata"]["uid"] in told["Preempted"]
    assert call(lab, "POST", "/workloads/team-a/nobody/preempt")[0] == 404


def test_a_workload_is_evicted_on_command(lab: Cluster) -> None:
    victim = lab.store.create(queued_job("victim", 1, **LONG))
    lab.run(3)
    said = {"reason": "PodsReadyTimeout", "message": "Exceeded the PodsReady timeout team-a/victim"}
    assert call(lab, "POST", "/workloads/team-a/victim/evict", said)[0] == 200
    status = workload_of(lab, victim)["status"]
    assert status["schedulingStats"]["evictions"] == [{"count": 1, "reason": "PodsReadyTimeout", "underlyingCause": ""}]
    assert condition_list(workload_of(lab, victim)) == [
        ("PodsReady", "False", "WaitForStart"),
        ("QuotaReserved", "True", "QuotaReserved"),
        ("Evicted", "False", "QuotaReserved"),
        ("Admitted", "True", "Admitted"),
        ("Requeued", "True", "PodsReadyTimeout"),
    ]


def test_a_silent_node_loses_its_pods_after_their_toleration(cluster: Cluster) -> None:
    cluster.store.create(job("train", gpus=1, **LONG))
    cluster.run(3)
    assert call(cluster, "PATCH", "/nodes/gpu-1", {"kubelet": "stopped"})[0] == 200
    cluster.run(6)
    node = cluster.get("Node", "gpu-1", None)
    assert {one["status"] for one in node["status"]["conditions"]} == {"Unknown"}
    assert [taint["effect"] for taint in node["spec"]["taints"]] == ["NoSchedule", "NoExecute"]
    (pod,) = cluster.pods()
    assert [one["status"] for one in pod["status"]["conditions"] if one["type"] == "Ready"] == ["False"]
    cluster.run(300)
    (pod,) = cluster.pods()
    assert "deletionTimestamp" in pod["metadata"]
    assert ("Failed", "True", "BackoffLimitExceeded") not in condition_list(cluster.get("Job", "train"))
    call(cluster, "PATCH", "/nodes/gpu-1", {"kubelet": "running"})
    cluster.run(2)
    assert cluster.pods() == []
    assert condition_list(cluster.get("Node", "gpu-1", None))[-1] == ("Ready", "True", "KubeletReady")
    assert "taints" not in cluster.get("Node", "gpu-1", None)["spec"]


def test_pods_of_a_machine_that_is_gone_go_too(cluster: Cluster) -> None:
    cluster.store.create(job("train", gpus=1, **LONG))
    cluster.run(3)
    assert call(cluster, "DELETE", "/nodes/gpu-1")[0] == 200
    cluster.run(1)
    assert cluster.pods() == []
    assert ("Failed", "True", "BackoffLimitExceeded") in condition_list(cluster.get("Job", "train"))


def test_a_cordoned_node_takes_no_new_pods(cluster: Cluster) -> None:
    call(cluster, "PATCH", "/nodes/gpu-1", {"cordoned": True})
    cluster.store.create(job("train", gpus=1))
    cluster.run(2)
    assert "nodeName" not in cluster.pods()[0]["spec"]
    call(cluster, "PATCH", "/nodes/gpu-1", {"cordoned": False})
    cluster.run(2)
    assert cluster.pods()[0]["spec"]["nodeName"] == "gpu-1"


def test_a_time_sliced_node_can_be_added(cluster: Cluster) -> None:
    made = {"name": "gpu-2", "card": "l40s-48", "whole": 2, "shared": 4}
    assert call(cluster, "POST", "/nodes", made)[1]["allocatable"]["nvidia.com/gpu.shared"] == "8"
    labels = cluster.get("Node", "gpu-2", None)["metadata"]["labels"]
    assert labels["nvidia.com/gpu.sharing-strategy"] == "time-slicing"
    assert labels["nvidia.com/gpu.replicas"] == "4"


def test_a_broken_card_stays_in_the_capacity(cluster: Cluster) -> None:
    call(cluster, "PATCH", "/nodes/gpu-1", {"allocatable": {"nvidia.com/gpu": 2}})
    status = cluster.get("Node", "gpu-1", None)["status"]
    assert (status["capacity"]["nvidia.com/gpu"], status["allocatable"]["nvidia.com/gpu"]) == ("3", "2")


def test_capacity_changes_and_cards_that_are_gone_are_not_given(cluster: Cluster) -> None:
    call(cluster, "PATCH", "/nodes/gpu-1", {"capacity": {"nvidia.com/gpu": 1}})
    cluster.store.create(job("train", gpus=2))
    cluster.run(1)
    assert "nodeName" not in cluster.pods()[0]["spec"]


@pytest.mark.parametrize(
    ("method", "path", "body", "status"),
    [
        ("PUT", "/speed", {"speed": 0}, 422),
        ("PUT", "/speed", {}, 422),
        ("PUT", "/kueue", {"runs": "no"}, 422),
        ("POST", "/rules", {"does": {"exit": "sometimes"}}, 422),
        ("POST", "/rules", {"pod": "x"}, 422),
        ("POST", "/pods/team-a/none/end", {}, 404),
        ("POST", "/nodes", {"name": "gpu-2", "card": "h100-80", "whole": 0, "mig": {"7g.80gb": 2}}, 422),
        ("POST", "/nodes", {"name": "gpu-1", "cpu": "1", "memory": "1Gi"}, 409),
        ("PATCH", "/nodes/gpu-1", {"colour": "red"}, 422),
        ("DELETE", "/speed", None, 405),
        ("GET", "/nowhere", None, 404),
    ],
)
def test_what_cannot_be_done_is_refused(cluster: Cluster, method: str, path: str, body: Any, status: int) -> None:
    assert call(cluster, method, path, body)[0] == status


def test_the_state_is_shown(cluster: Cluster) -> None:
    status, said = call(cluster, "GET", "/")
    assert status == 200
    assert said["nodes"] == {"cpu-1": True, "gpu-1": True}
    assert said["kueue_runs"] is True
