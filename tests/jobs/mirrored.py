"""What the mirror has of a run, built by hand: Jobs, pods, nodes, Kueue Workloads with recorded words."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from jobs.decide import Record
from jobs.observe import Observation, Seen, observe

NOW = datetime(2026, 12, 1, 9, tzinfo=UTC)
AT = "2026-12-01T08:59:00Z"
NEEDS_ONE = (
    "couldn't assign flavors to pod set main: insufficient unused quota for nvidia.com/gpu in flavor t-h100, "
    "1 more needed"
)
BEYOND = (
    "couldn't assign flavors to pod set main: insufficient quota for nvidia.com/gpu in flavor t-h100, "
    "previously considered podsets requests (0) + current podset request (9) > maximum capacity (4)"
)
PREEMPTED = (
    "Preempted to accommodate a workload (UID: 37619f3d, JobUID: b4a4c68e) due to reclamation within the cohort; "
    "preemptor path: /t-lab/t-b; preemptee path: /t-lab/t-a"
)


def condition(kind: str, *, true: bool = True, reason: str = "", message: str = "", at: str = AT) -> dict[str, Any]:
    return {
        "type": kind,
        "status": "True" if true else "False",
        "reason": reason,
        "message": message,
        "lastTransitionTime": at,
    }


def job(*conditions: dict[str, Any], run: int = 1, **status: Any) -> Seen:
    return Seen("Job", "train-r1", "job-1", run, data={"status": {"conditions": list(conditions), **status}})


def keeper(kind: str, *, replicas: int = 1, ready: int = 0) -> Seen:
    return Seen(kind, "x-r1", "keeper-1", 1, data={"spec": {"replicas": replicas}, "status": {"readyReplicas": ready}})


def container(name: str = "main", **status: Any) -> dict[str, Any]:
    return {"name": name, "ready": False, "restartCount": 0, "image": "x.example/y:1", **status}


def ended(code: int, reason: str = "Error") -> dict[str, Any]:
    return {"terminated": {"exitCode": code, "reason": reason, "finishedAt": AT}}


def pod(
    name: str = "train-r1-abc",
    *containers: dict[str, Any],
    ready: bool = False,
    phase: str = "Running",
    node: str = "gpu-1",
    gated: bool = False,
    conditions: tuple[dict[str, Any], ...] = (),
    run: int = 1,
    deleting: bool = False,
    **status: Any,
) -> Seen:
    spec: dict[str, Any] = {"nodeName": node} if node else {}
    if gated:
        spec["schedulingGates"] = [{"name": "kueue.x-k8s.io/admission"}]
    said = [condition("Ready", true=ready), *conditions]
    data = {
        "metadata": {"deletionTimestamp": "2026-12-01T09:00:00Z"} if deleting else {},
        "spec": spec,
        "status": {"phase": phase, "conditions": said, "containerStatuses": list(containers), **status},
    }
    return Seen("Pod", name, f"uid-{name}", run, owner_uid="job-1", data=data)


def node(name: str = "gpu-1", *, ready: bool = True) -> Seen:
    return Seen("Node", name, f"uid-{name}", data={"status": {"conditions": [condition("Ready", true=ready)]}})


def workload(
    *conditions: dict[str, Any],
    owner: str = "job-1",
    active: bool = True,
    count: int = 1,
    usage: dict[str, str] | None = None,
) -> Seen:
    """A Kueue Workload. With a true QuotaReserved it has an admission."""
    status: dict[str, Any] = {"conditions": list(conditions)}
    if any(one["type"] == "QuotaReserved" and one["status"] == "True" for one in conditions):
        amounts = usage or {"cpu": "2500m", "memory": "8Gi", "nvidia.com/gpu": "1"}
        flavors = {name: "t-h100" if name.startswith("nvidia") else "t-cpu" for name in amounts}
        part = {"name": "main", "count": count, "flavors": flavors, "resourceUsage": amounts}
        status["admission"] = {"clusterQueue": "t-a", "podSetAssignments": [part]}
    metadata = {"creationTimestamp": AT}
    data = {"metadata": metadata, "spec": {"active": active}, "status": status}
    return Seen("Workload", "job-x-1", "kueue-1", job_uid=owner, data=data)


def pending(message: str, reason: str = "Pending") -> Seen:
    return workload(condition("QuotaReserved", true=False, reason=reason, message=message))


def admitted(**changes: Any) -> Seen:
    return workload(condition("QuotaReserved"), condition("Admitted"), **changes)


def run_of(*objects: Seen, kueue: tuple[Seen, ...] = (), nodes: tuple[Seen, ...] | None = (node(),)) -> Observation:
    return observe(objects, kueue, nodes, run=1, flavor="t-h100")


def record(kind: str = "training", **changes: Any) -> Record:
    return Record(**{"kind": kind, "pods": 1, "memory": "8Gi", "image": "x.example/y:1", "max_duration": 60, **changes})
