"""The StatefulSet controller: ordinal pods, one after the other, their claims, and the set's status."""

from __future__ import annotations

from datetime import datetime

from portal.cluster.simulated.controllers.birth import RETRY_SECONDS, create_pod
from portal.cluster.simulated.controllers.kueue.marks import mark_group_pod
from portal.cluster.simulated.controllers.podstate import is_ended, is_going, is_ready
from portal.cluster.simulated.controllers.templates import pod_from, template_hash
from portal.cluster.simulated.controllers.world import World
from portal.cluster.simulated.objects import Obj
from portal.cluster.simulated.store import Change

COMPONENT = "statefulset-controller"
REVISION = "controller-revision-hash"


class StatefulSetController:
    """Reconciles one StatefulSet at a time."""

    watches = ("StatefulSet", "Pod")

    def __init__(self, world: World) -> None:
        self._world = world

    def keys_for(self, change: Change) -> list[tuple[str, str]]:
        if change.kind == "StatefulSet":
            return [(change.namespace, change.name)]
        refs = change.object["metadata"].get("ownerReferences") or []
        return [(change.namespace, ref["name"]) for ref in refs if ref["kind"] == "StatefulSet"]

    def reconcile(self, namespace: str, name: str) -> datetime | None:
        """One pass. Returns when to look again."""
        found = self._world.store.get("StatefulSet", namespace, name)
        if found is None or "deletionTimestamp" in found["metadata"]:
            return None
        pods = {_ordinal(pod): pod for pod in self._world.index.children(found, "Pod")}
        revision = f"{name}-{template_hash(found['spec']['template'])}"
        again = self._converge(found, pods, revision)
        self._write_status(found, revision)
        return again

    def _converge(self, found: Obj, pods: dict[int, Obj], revision: str) -> datetime | None:
        """One step at a time: pods that are too many go first, then missing ones come in order, then old ones go."""
        wanted = int(found["spec"].get("replicas", 1))
        parallel = found["spec"].get("podManagementPolicy") == "Parallel"
        for ordinal in sorted((ordinal for ordinal in pods if ordinal >= wanted), reverse=True):
            if not is_going(pods[ordinal]):
                self._delete(found, pods[ordinal])
            if not parallel:
                return None
        for ordinal in range(wanted):
            pod = pods.get(ordinal)
            if pod is not None and is_ended(pod) and not is_going(pod):
                self._delete(found, pod)
                return None
            if pod is None and self._create(found, ordinal, revision) is None:
                return self._world.due(self._world.now(), RETRY_SECONDS)
            if not parallel and (pod is None or not is_ready(pod)) and ordinal + 1 < wanted and not _is_kueues(found):
                return None
        self._roll(found, pods, wanted, revision)
        return None

    def _roll(self, found: Obj, pods: dict[int, Obj], wanted: int, revision: str) -> None:
        """Replace pods of an older template, the highest ordinal first, one at a time."""
        for ordinal in range(wanted - 1, -1, -1):
            pod = pods.get(ordinal)
            if pod is None or is_going(pod):
                return
            if pod["metadata"]["labels"].get(REVISION) != revision:
                self._delete(found, pod)
                return
            if not is_ready(pod):
                return

    def _create(self, found: Obj, ordinal: int, revision: str) -> Obj | None:
        set_name = found["metadata"]["name"]
        name = f"{set_name}-{ordinal}"
        pod = pod_from(found["spec"]["template"], found, prefix=f"{set_name}-", name=name)
        pod["metadata"]["labels"].update(
            {
                "apps.kubernetes.io/pod-index": str(ordinal),
                REVISION: revision,
                "statefulset.kubernetes.io/pod-name": name,
            }
        )
        pod["spec"].update(hostname=name, subdomain=found["spec"].get("serviceName", ""))
        for template in found["spec"].get("volumeClaimTemplates") or []:
            self._claim(found, template, pod)
        mark_group_pod(found, pod)
        return create_pod(self._world, found, pod, COMPONENT)

    def _claim(self, found: Obj, template: Obj, pod: Obj) -> None:
        """The pod's own claim from a template; it stays when the pod or the set goes (retention policy Retain)."""
        volume, namespace = template["metadata"]["name"], found["metadata"]["namespace"]
        name = f"{volume}-{pod['metadata']['name']}"
        if self._world.store.get("PersistentVolumeClaim", namespace, name) is None:
            meta = {"name": name, "namespace": namespace, "labels": dict(found["spec"]["selector"]["matchLabels"])}
            claim = {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": meta, "spec": template["spec"]}
            self._world.store.create(claim)
        volumes = [one for one in pod["spec"].get("volumes") or [] if one["name"] != volume]
        pod["spec"]["volumes"] = [*volumes, {"name": volume, "persistentVolumeClaim": {"claimName": name}}]

    def _delete(self, found: Obj, pod: Obj) -> None:
        meta = pod["metadata"]
        self._world.store.delete("Pod", meta["namespace"], meta["name"], uid=meta["uid"])
        told = f"delete Pod {meta['name']} in StatefulSet {found['metadata']['name']} successful"
        self._world.event(found, "SuccessfulDelete", told, component=COMPONENT)

    def _write_status(self, found: Obj, revision: str) -> None:
        pods = [pod for pod in self._world.index.children(found, "Pod") if not is_ended(pod)]
        updated = sum(pod["metadata"]["labels"].get(REVISION) == revision for pod in pods)
        ready = sum(map(is_ready, pods))
        before = (found.get("status") or {}).get("currentRevision", revision)
        status: Obj = {
            "observedGeneration": found["metadata"].get("generation", 1),
            "replicas": len(pods),
            "currentRevision": revision if updated == len(pods) else before,
            "updateRevision": revision,
            "collisionCount": 0,
            "availableReplicas": ready,
        }
        counts = {"readyReplicas": ready, "currentReplicas": updated, "updatedReplicas": updated}
        status.update({field: count for field, count in counts.items() if count})
        self._world.store_status(found, status)


def _is_kueues(found: Obj) -> bool:
    """Kueue admits all pods of a set together, so they are created together."""
    return "kueue.x-k8s.io/queue-name" in (found["metadata"].get("labels") or {})


def _ordinal(pod: Obj) -> int:
    return int(pod["metadata"]["name"].rpartition("-")[2])
