"""The scheduler: which node a pod gets, and what it says when there is none."""

from __future__ import annotations

from collections import Counter
from datetime import datetime

from portal.admission.quantities import parse, pod_requests
from portal.cluster.simulated.controllers import containers
from portal.cluster.simulated.controllers.conditions import FALSE, TRUE
from portal.cluster.simulated.controllers.dependencies import unbound_claim
from portal.cluster.simulated.controllers.nodestate import taints, tolerates
from portal.cluster.simulated.controllers.podstate import is_ended
from portal.cluster.simulated.controllers.world import World
from portal.cluster.simulated.objects import Obj
from portal.cluster.simulated.store import Change
from portal.gpus import is_gpu_resource

COMPONENT = "default-scheduler"
_ONE = ("", "")
_NO_VICTIMS = "No preemption victims found for incoming pod"
_HELPLESS = "Preemption is not helpful for scheduling"


class Scheduler:
    """Places all pods that wait, oldest first, whenever something changes that may help one."""

    watches = ("Pod", "Node", "PersistentVolumeClaim")

    def __init__(self, world: World) -> None:
        self._world = world

    def keys_for(self, change: Change) -> list[tuple[str, str]]:
        if change.kind != "Pod":
            return [_ONE]
        pod = change.object
        left = bool(pod["spec"].get("nodeName")) and (change.type == "DELETED" or is_ended(pod))
        return [_ONE] if left or not pod["spec"].get("nodeName") else []

    def reconcile(self, namespace: str, name: str) -> datetime | None:
        """Try every waiting pod once."""
        waiting = []
        for _, in_namespace, pod_name in self._world.index.unscheduled():
            pod = self._world.store.get("Pod", in_namespace, pod_name)
            if pod is not None:
                waiting.append(pod)
        waiting.sort(key=lambda pod: (pod["metadata"]["creationTimestamp"], pod["metadata"]["name"]))
        nodes = list(self._world.store.scan("Node")) if waiting else []
        for pod in waiting:
            self._place(pod, nodes)
        return None

    def _place(self, pod: Obj, nodes: list[Obj]) -> None:
        problem = unbound_claim(pod, self._world.store)
        if problem is not None:
            self._refuse(pod, f"0/{len(nodes)} nodes are available: {problem}.")
            return
        requests = {**pod_requests(pod["spec"]), "pods": 1}
        wants_gpu = any(is_gpu_resource(resource) for resource in requests)
        reasons: Counter[str] = Counter()
        for node in sorted(nodes, key=lambda node: (not wants_gpu and _has_gpu(node), node["metadata"]["name"])):
            against = self._against(pod, requests, node)
            if not against:
                self._bind(pod, node["metadata"]["name"])
                return
            reasons.update(against)
        self._refuse(pod, _unavailable(len(nodes), reasons))

    def _against(self, pod: Obj, requests: dict[str, int], node: Obj) -> list[str]:
        """Why this node will not do, in the scheduler's words; the first group of reasons that applies."""
        if (node.get("spec") or {}).get("unschedulable"):
            return ["node(s) were unschedulable"]
        for taint in taints(node):
            if taint["effect"] in ("NoSchedule", "NoExecute") and not tolerates(pod, taint):
                return [f"node(s) had untolerated taint {{{taint['key']}: {taint.get('value', '')}}}"]
        wanted = pod["spec"].get("nodeSelector") or {}
        if not wanted.items() <= (node["metadata"].get("labels") or {}).items():
            return ["node(s) didn't match Pod's node affinity/selector"]
        used = self._world.index.used_on(node["metadata"]["name"])
        allocatable = (node.get("status") or {}).get("allocatable") or {}
        short = [
            resource
            for resource, amount in requests.items()
            if used.get(resource, 0) + amount > parse(resource, allocatable.get(resource, 0))
        ]
        return ["Too many pods" if resource == "pods" else f"Insufficient {resource}" for resource in short]

    def _bind(self, pod: Obj, node: str) -> None:
        meta, at = pod["metadata"], self._world.stamp()

        def bind(stored: Obj) -> None:
            stored["spec"]["nodeName"] = node

        def scheduled(stored: Obj) -> None:
            containers.say(stored["status"], "PodScheduled", TRUE, "", "", at)

        self._world.store.mutate("Pod", meta["namespace"], meta["name"], scheduled, status=True)
        self._world.store.mutate("Pod", meta["namespace"], meta["name"], bind)
        told = f"Successfully assigned {meta['namespace']}/{meta['name']} to {node}"
        self._world.event(pod, "Scheduled", told, component=COMPONENT)

    def _refuse(self, pod: Obj, message: str) -> None:
        meta, at = pod["metadata"], self._world.stamp()

        def refuse(stored: Obj) -> None:
            containers.say(stored["status"], "PodScheduled", FALSE, "Unschedulable", message, at)

        before = meta["resourceVersion"]
        after = self._world.store.mutate("Pod", meta["namespace"], meta["name"], refuse, status=True)
        if after is not None and after["metadata"]["resourceVersion"] != before:
            self._world.event(pod, "FailedScheduling", message, kind="Warning", component=COMPONENT)


def _has_gpu(node: Obj) -> bool:
    return any(is_gpu_resource(resource) for resource in (node.get("status") or {}).get("allocatable") or {})


def _unavailable(nodes: int, reasons: Counter[str]) -> str:
    if not nodes:
        return "no nodes available to schedule pods"
    told = ", ".join(sorted(f"{count} {reason}" for reason, count in reasons.items()))
    full = sum(count for reason, count in reasons.items() if reason.startswith(("Insufficient", "Too many")))
    helpless = nodes - min(full, nodes)
    advice = [f"{min(full, nodes)} {_NO_VICTIMS}"] if full else []
    advice += [f"{helpless} {_HELPLESS}"] if helpless else []
    return f"0/{nodes} nodes are available: {told}. preemption: 0/{nodes} nodes are available: {', '.join(advice)}."
