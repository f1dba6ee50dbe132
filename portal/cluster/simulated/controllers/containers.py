"""How a kubelet words the status of a pod and its containers. Pure functions on the pod's status."""

from __future__ import annotations

from portal.cluster.simulated.controllers import conditions
from portal.cluster.simulated.controllers.conditions import FALSE, TRUE, Condition
from portal.cluster.simulated.objects import Obj

_NO_PROBE = (("lastProbeTime", None),)


def names(pod: Obj) -> list[str]:
    return [container["name"] for container in pod["spec"]["containers"]]


def first_state(pod: Obj) -> tuple[str, Obj]:
    """(`waiting` | `running` | `terminated` | ``, its details) of the pod's first container."""
    statuses = (pod.get("status") or {}).get("containerStatuses") or []
    for kind in ("waiting", "running", "terminated"):
        if statuses and kind in statuses[0]["state"]:
            return kind, statuses[0]["state"][kind]
    return "", {}


def restarts(pod: Obj) -> int:
    statuses = (pod.get("status") or {}).get("containerStatuses") or []
    return int(statuses[0]["restartCount"]) if statuses else 0


def accept(pod: Obj, address: str, at: str) -> None:
    """The pod has come to its node: containers are being created."""
    status = pod["status"]
    status.update(phase="Pending", startTime=at, hostIP=address, hostIPs=[{"ip": address}])
    say(status, "PodReadyToStartContainers", FALSE, "", "", at)
    say(status, "Initialized", TRUE, "", "", at)
    status["containerStatuses"] = [
        {
            "name": container["name"],
            "state": {"waiting": {"reason": "ContainerCreating"}},
            "lastState": {},
            "ready": False,
            "restartCount": 0,
            "image": container.get("image", ""),
            "imageID": "",
            "started": False,
        }
        for container in pod["spec"]["containers"]
    ]
    set_ready(pod, at, ready=False)


def wait(pod: Obj, reason: str, message: str) -> None:
    """Every container waits, for this reason."""
    for status in pod["status"]["containerStatuses"]:
        status["state"] = {"waiting": {"reason": reason, "message": message} if message else {"reason": reason}}
        status.update(ready=False, started=False)


def run(pod: Obj, address: str, at: str) -> None:
    """Every container runs; a container that ran before keeps how that ended."""
    pod["status"].update(phase="Running", podIP=address, podIPs=[{"ip": address}])
    say(pod["status"], "PodReadyToStartContainers", TRUE, "", "", at)
    for container, status in zip(pod["spec"]["containers"], pod["status"]["containerStatuses"], strict=True):
        image = container.get("image", "")
        status.update(state={"running": {"startedAt": at}}, started=True, imageID=f"simulated://{image}")
        status["containerID"] = f"simulated://{pod['metadata']['uid']}/{status['name']}/{status['restartCount']}"


def end(pod: Obj, code: int, reason: str, at: str) -> None:
    """Every container has terminated with this exit code."""
    for status in pod["status"]["containerStatuses"]:
        started = (status["state"].get("running") or {}).get("startedAt", at)
        ended = {"exitCode": code, "reason": reason, "startedAt": started, "finishedAt": at}
        status.update(state={"terminated": ended}, ready=False, started=False)
    set_ready(pod, at, ready=False)


def back_off(pod: Obj, message: str) -> None:
    """Terminated containers wait for their restart."""
    for status in pod["status"]["containerStatuses"]:
        status["lastState"] = status["state"]
        status["state"] = {"waiting": {"reason": "CrashLoopBackOff", "message": message}}


def restart(pod: Obj) -> None:
    for status in pod["status"]["containerStatuses"]:
        status["restartCount"] += 1
        if "terminated" in status["state"]:
            status["lastState"] = status["state"]


def finish(pod: Obj, phase: str, at: str, reason: str = "", message: str = "") -> None:
    """The pod has ended for good."""
    status = pod["status"]
    status["phase"] = phase
    if reason:
        status.update(reason=reason, message=message)
    why = "PodCompleted" if phase == "Succeeded" else "PodFailed"
    for kind in ("Ready", "ContainersReady"):
        say(status, kind, FALSE, why, "", at)


def set_ready(pod: Obj, at: str, *, ready: bool) -> None:
    status, waiting = pod["status"], ", ".join(names(pod))
    for kind in ("Ready", "ContainersReady"):
        if ready:
            say(status, kind, TRUE, "", "", at)
        else:
            say(status, kind, FALSE, "ContainersNotReady", f"containers with unready status: [{waiting}]", at)
    for container in status.get("containerStatuses") or []:
        container["ready"] = ready


def say(status: Obj, kind: str, value: str, reason: str, message: str, at: str) -> bool:
    """Write a pod condition."""
    return conditions.put(status, Condition(kind, value, reason, message, _NO_PROBE), at)
