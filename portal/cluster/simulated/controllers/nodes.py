"""Node lifecycle: readiness and taints, pods of nodes that are lost, pods of nodes that are gone."""

from __future__ import annotations

from datetime import datetime

from portal.cluster.simulated.controllers import conditions, containers
from portal.cluster.simulated.controllers.conditions import FALSE, TRUE, UNKNOWN, Condition
from portal.cluster.simulated.controllers.nodestate import (
    NOT_READY,
    UNREACHABLE,
    UNSCHEDULABLE,
    is_node_ready,
    is_stopped,
    taints,
    toleration_of,
)
from portal.cluster.simulated.controllers.podstate import is_ended, is_going, is_ready
from portal.cluster.simulated.controllers.world import World
from portal.cluster.simulated.objects import Obj, copy
from portal.cluster.simulated.store import Change

COMPONENT = "node-controller"
LOST_SECONDS = 5.0
_PRESSURES = (
    ("MemoryPressure", "KubeletHasSufficientMemory", "kubelet has sufficient memory available"),
    ("DiskPressure", "KubeletHasNoDiskPressure", "kubelet has no disk pressure"),
    ("PIDPressure", "KubeletHasSufficientPID", "kubelet has sufficient PID available"),
)
_SILENT = ("NodeStatusUnknown", "Kubelet stopped posting node status.")


class NodeController:
    """Reconciles one node and the pods on it."""

    watches = ("Node", "Pod")

    def __init__(self, world: World) -> None:
        self._world = world

    def keys_for(self, change: Change) -> list[tuple[str, str]]:
        if change.kind == "Node":
            return [("", change.name)]
        node = change.object["spec"].get("nodeName")
        return [("", node)] if node and change.type != "DELETED" and self._needs_care(node) else []

    def _needs_care(self, name: str) -> bool:
        node = self._world.store.get("Node", None, name)
        return node is None or is_stopped(node) or any(taint["effect"] == "NoExecute" for taint in taints(node))

    def reconcile(self, namespace: str, name: str) -> datetime | None:
        """One pass. Returns when to look again."""
        node = self._world.store.get("Node", None, name)
        if node is None:
            self._collect_pods(name)
            return None
        again = self._judge(node)
        node = self._world.store.get("Node", None, name)
        if node is not None:
            later = self._evict_intolerant(node)
            again = min((moment for moment in (again, later) if moment is not None), default=None)
        return again

    def _judge(self, node: Obj) -> datetime | None:
        """Ready, or silent for so long that it counts as lost."""
        uid, at = node["metadata"]["uid"], self._world.stamp()
        if not is_stopped(node):
            self._world.forget(uid)
            self._write(node, _ready_conditions(), at)
            self._taint(node, _wanted_taints(node, lost=False), at)
            return None
        due = self._world.due(self._world.moment(uid, "silent"), LOST_SECONDS)
        if is_node_ready(node) and due > self._world.now():
            return due
        if is_node_ready(node):
            self._world.event(node, "NodeNotReady", f"Node {node['metadata']['name']} status is now: NodeNotReady",
                              component=COMPONENT)  # fmt: skip
        self._write(
            node, [Condition(kind, UNKNOWN, *_SILENT) for kind in (*(one[0] for one in _PRESSURES), "Ready")], at
        )
        self._taint(node, _wanted_taints(node, lost=True), at)
        self._unready_pods(node)
        return None

    def _write(self, node: Obj, said: list[Condition], at: str) -> None:
        def write(stored: Obj) -> None:
            status = stored.setdefault("status", {})
            for condition in said:
                conditions.put(status, condition, at)

        self._world.store.mutate("Node", None, node["metadata"]["name"], write, status=True)

    def _taint(self, node: Obj, wanted: list[Obj], at: str) -> None:
        known = {(taint["key"], taint["effect"]): taint for taint in taints(node)}
        stamped = [known.get((taint["key"], taint["effect"]), _stamped(taint, at)) for taint in wanted]
        if stamped == taints(node):
            return

        def write(stored: Obj) -> None:
            stored.setdefault("spec", {}).pop("taints", None)
            if stamped:
                stored["spec"]["taints"] = copy({"taints": stamped})["taints"]

        self._world.store.mutate("Node", None, node["metadata"]["name"], write)

    def _unready_pods(self, node: Obj) -> None:
        at = self._world.stamp()
        for _, namespace, name in self._world.index.pods_on(node["metadata"]["name"]):
            pod = self._world.store.get("Pod", namespace, name)
            if pod is None or not is_ready(pod):
                continue
            self._world.change(
                pod, lambda stored: containers.say(stored["status"], "Ready", FALSE, "", "", at), status=True
            )
            self._world.event(pod, "NodeNotReady", "Node is not ready", kind="Warning", component=COMPONENT)

    def _evict_intolerant(self, node: Obj) -> datetime | None:
        """Delete the pods that do not tolerate a NoExecute taint, each when its toleration ends."""
        again: list[datetime] = []
        for taint in taints(node):
            if taint["effect"] != "NoExecute":
                continue
            for _, namespace, name in self._world.index.pods_on(node["metadata"]["name"]):
                pod = self._world.store.get("Pod", namespace, name)
                due = None if pod is None or is_going(pod) or is_ended(pod) else self._leaves(node, taint, pod)
                if pod is None or due is None:
                    continue
                if due > self._world.now():
                    again.append(due)
                else:
                    self._evict(pod)
        return min(again, default=None)

    def _leaves(self, node: Obj, taint: Obj, pod: Obj) -> datetime | None:
        toleration = toleration_of(pod, taint)
        since = self._world.moment(node["metadata"]["uid"], taint["key"], taint.get("timeAdded"))
        if toleration is None:
            return since
        seconds = toleration.get("tolerationSeconds")
        return None if seconds is None else self._world.due(since, float(seconds))

    def _evict(self, pod: Obj) -> None:
        at, meta = self._world.stamp(), pod["metadata"]
        why = ("DeletionByTaintManager", "Taint manager: deleting due to NoExecute taint")
        self._world.change(
            pod, lambda stored: containers.say(stored["status"], "DisruptionTarget", TRUE, *why, at), status=True
        )
        told = f"Marking for deletion Pod {meta['namespace']}/{meta['name']}"
        self._world.event(pod, "TaintManagerEviction", told, component="taint-eviction-controller")
        self._world.store.delete("Pod", meta["namespace"], meta["name"], uid=meta["uid"])

    def _collect_pods(self, name: str) -> None:
        """Pods of a node that no longer exists: failed, then removed (the pod garbage collector)."""
        at = self._world.stamp()
        why = ("DeletionByPodGC", "PodGC: node no longer exists")

        def write(stored: Obj) -> None:
            containers.say(stored["status"], "DisruptionTarget", TRUE, *why, at)
            stored["status"]["phase"] = "Failed"

        for _, namespace, pod_name in self._world.index.pods_on(name):
            pod = self._world.store.get("Pod", namespace, pod_name)
            if pod is None:
                continue
            if not is_ended(pod):
                self._world.change(pod, write, status=True)
            self._world.store.remove("Pod", namespace, pod_name)


def _ready_conditions() -> list[Condition]:
    calm = [Condition(kind, FALSE, reason, message) for kind, reason, message in _PRESSURES]
    return [*calm, Condition("Ready", TRUE, "KubeletReady", "kubelet is posting ready status")]


def _wanted_taints(node: Obj, *, lost: bool) -> list[Obj]:
    """Other people's taints stay; those of readiness and cordon follow the node."""
    ours = (UNREACHABLE, NOT_READY, UNSCHEDULABLE)
    wanted: list[Obj] = [taint for taint in taints(node) if taint["key"] not in ours]
    if (node.get("spec") or {}).get("unschedulable"):
        wanted.append({"key": UNSCHEDULABLE, "effect": "NoSchedule"})
    if lost:
        wanted.extend({"key": UNREACHABLE, "effect": effect} for effect in ("NoSchedule", "NoExecute"))
    return wanted


def _stamped(taint: Obj, at: str) -> Obj:
    return {**taint, "timeAdded": at}
