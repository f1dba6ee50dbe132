"""New Workloads, as Kueue's integrations make them."""

from __future__ import annotations

from portal.cluster.simulated.controllers.conditions import FALSE
from portal.cluster.simulated.controllers.kueue.ledger import NOT_READY, say
from portal.cluster.simulated.controllers.kueue.marks import JOB_UID, owner_ref, queue_of, workload_name
from portal.cluster.simulated.controllers.world import World
from portal.cluster.simulated.objects import BY_KIND, Obj, copy
from portal.cluster.simulated.webhooks import IN_USE_FINALIZER, MAX_EXEC_LABEL, PRIORITY_LABEL

_GROUP = "kueue.x-k8s.io"
_TEMPLATE_LABELS = ("batch.kubernetes.io/job-name",)


def create_workload(
    world: World, owner: Obj, podset: Obj, *, controller: bool = True, annotations: dict[str, str] | None = None
) -> Obj | None:
    """Create the Workload of an owner. None while its priority class does not exist."""
    labels = owner["metadata"].get("labels") or {}
    spec: Obj = {"active": True, "podSets": [podset], "priority": 0, "queueName": queue_of(owner) or ""}
    if labels.get(PRIORITY_LABEL):
        found = world.store.get("WorkloadPriorityClass", None, labels[PRIORITY_LABEL])
        if found is None:
            return None
        spec["priority"] = found["value"]
        spec["priorityClassRef"] = class_ref(labels[PRIORITY_LABEL])
    if str(labels.get(MAX_EXEC_LABEL, "")).isdecimal():
        spec["maximumExecutionTimeSeconds"] = int(labels[MAX_EXEC_LABEL])
    meta: Obj = {
        "name": workload_name(owner),
        "namespace": owner["metadata"]["namespace"],
        "labels": {JOB_UID: owner["metadata"]["uid"]},
        "finalizers": [IN_USE_FINALIZER],
        "ownerReferences": [owner_ref(owner, controller=controller)],
    }
    if annotations:
        meta["annotations"] = annotations
    workload: Obj = {"apiVersion": BY_KIND["Workload"].api_version, "kind": "Workload", "metadata": meta, "spec": spec}
    say(workload, "PodsReady", FALSE, NOT_READY, world.stamp())
    workload["status"]["conditions"][0]["observedGeneration"] = 1
    created = world.store.create(workload)
    world.event(
        owner,
        "CreatedWorkload",
        f"Created Workload: {meta['namespace']}/{meta['name']}",
        component=f"{_GROUP}/{owner['kind'].lower()}-controller",
    )
    return created


def class_ref(name: str) -> Obj:
    return {"group": _GROUP, "kind": "WorkloadPriorityClass", "name": name}


def podset_of(template: Obj, count: int, index_label: str, *, keep_metadata: bool) -> Obj:
    """One pod set from a pod template; what the API server and Kueue added to the template is left out."""
    meta = template.get("metadata") or {}
    kept: Obj = {}
    if keep_metadata and meta.get("annotations"):
        kept["annotations"] = copy(meta["annotations"])
    labels = {key: value for key, value in (meta.get("labels") or {}).items() if _is_kept(key)}
    if keep_metadata and labels:
        kept["labels"] = labels
    podset: Obj = {"name": "main", "count": count, "template": {"metadata": kept, "spec": copy(template["spec"])}}
    if index_label:
        podset["topologyRequest"] = {"podIndexLabel": index_label}
    return podset


def _is_kept(label: str) -> bool:
    return label in _TEMPLATE_LABELS or not label.startswith(("batch.kubernetes.io/", "controller-uid", "job-name"))


def follow_priority_label(world: World, owner: Obj, workload: Obj) -> None:
    """A changed priority-class label of the owner becomes the Workload's class and priority."""
    label = (owner["metadata"].get("labels") or {}).get(PRIORITY_LABEL)
    ref = workload["spec"].get("priorityClassRef") or {}
    if not label or ref.get("name") == label:
        return
    found = world.store.get("WorkloadPriorityClass", None, label)
    if found is None:
        return

    def write(stored: Obj) -> None:
        stored["spec"]["priorityClassRef"] = class_ref(label)
        stored["spec"]["priority"] = found["value"]

    world.change(workload, write)
