"""The pods behind a Service: which of them may be asked, and if none, what is the matter."""

from __future__ import annotations

from dataclasses import dataclass

from portal.cluster.simulated.controllers.containers import first_state
from portal.cluster.simulated.controllers.kueue.marks import GROUP_NAME, workload_name
from portal.cluster.simulated.controllers.manager import Manager
from portal.cluster.simulated.controllers.podstate import is_active, is_gated, is_ready
from portal.cluster.simulated.dataplane.routes import Way
from portal.cluster.simulated.objects import Obj

_BROKEN = ("ImagePullBackOff", "ErrImagePull", "CrashLoopBackOff", "CreateContainerConfigError")
_WAITS = {"queued": 5, "loading": 2, "failing": 10, "stopping": 5, "idle": 5, "stopped": 30}


@dataclass(frozen=True)
class Absence:
    """Why nobody answers. state: queued, loading, failing, stopping, idle or stopped; retry_after in seconds."""

    state: str
    message: str

    @property
    def retry_after(self) -> int:
        return _WAITS[self.state]


def ready_pods(manager: Manager, way: Way) -> list[Obj]:
    """Pods of the Service's selector that are ready, in the order of their names."""
    return [pod for pod in _selected(manager, way) if is_ready(pod)]


def absence(manager: Manager, way: Way) -> Absence:
    """What to tell somebody who asks while no pod is ready."""
    pods = _selected(manager, way)
    active = [pod for pod in pods if is_active(pod)]
    if not active:
        if any(not is_active(pod) and "deletionTimestamp" in pod["metadata"] for pod in pods):
            return Absence("stopping", "It is being stopped.")
        if _is_scaled_to_zero(manager, way):
            return Absence("idle", "It is scaled to zero.")
        return Absence("stopped", "It is stopped.")
    loading = [pod for pod in active if pod["spec"].get("nodeName")]
    for pod in loading:
        reason = str(first_state(pod)[1].get("reason", ""))
        if reason in _BROKEN:
            return Absence("failing", f"It cannot start: {reason}.")
    if loading:
        return Absence("loading", "It is loading and not ready yet.")
    if all(is_gated(pod) for pod in active):
        return Absence("queued", _queued(manager, active[0]))
    return Absence("queued", "It waits for a node with room.")


def _is_scaled_to_zero(manager: Manager, way: Way) -> bool:
    workload = (way.route["metadata"].get("labels") or {}).get("turno.dev/workload", "")
    owners = manager.world.store.scan("Deployment", way.namespace, {"turno.dev/workload": workload})
    return any(owner["spec"].get("replicas", 1) == 0 for owner in owners)


def _queued(manager: Manager, pod: Obj) -> str:
    """With its place in the queue, 1-based, where Kueue has one."""
    namespace = pod["metadata"]["namespace"]
    name = (pod["metadata"].get("labels") or {}).get(GROUP_NAME) or workload_name(pod)
    workload = manager.world.store.get("Workload", namespace, name)
    queue = None if workload is None else manager.books.queue_for(workload)
    if queue is not None:
        order = manager.books.engine.pending_order(queue["metadata"]["name"])
        if f"{namespace}/{name}" in order:
            return f"It waits in the queue at position {order.index(f'{namespace}/{name}') + 1}."
    return "It waits in the queue."


def _selected(manager: Manager, way: Way) -> list[Obj]:
    service = manager.world.store.get("Service", way.namespace, way.service)
    selector = ((service or {}).get("spec") or {}).get("selector")
    return list(manager.world.store.scan("Pod", way.namespace, selector)) if selector else []
