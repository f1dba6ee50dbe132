"""Names, labels and annotations by which Kueue knows its objects."""

from __future__ import annotations

import hashlib

from portal.cluster.simulated.objects import Obj
from portal.cluster.simulated.webhooks import PRIORITY_LABEL, QUEUE_LABEL

PREFIX = "kueue.x-k8s.io/"
MANAGED = f"{PREFIX}managed"
JOB_UID = f"{PREFIX}job-uid"
WORKLOAD = f"{PREFIX}workload"
LOCAL_QUEUE = f"{PREFIX}local-queue-name"
CLUSTER_QUEUE = f"{PREFIX}cluster-queue-name"
PODSET = f"{PREFIX}podset"
GROUP_NAME = f"{PREFIX}pod-group-name"
PREBUILT = f"{PREFIX}prebuilt-workload-name"
MIN_PARALLELISM = f"{PREFIX}job-min-parallelism"
MAIN = "main"
_LONGEST, _HASH = 253, 5


def queue_of(obj: Obj) -> str | None:
    """The LocalQueue an object asks for, or None when Kueue does not manage it."""
    labels = obj["metadata"].get("labels") or {}
    return labels.get(QUEUE_LABEL) or None


def workload_name(owner: Obj) -> str:
    """`<kind>-<name>-<hash>`: the same for the same owner, however long its name is."""
    meta, kind = owner["metadata"], owner["kind"].lower()
    digest = hashlib.sha256(f"{kind}\n{meta['name']}\n{meta['uid']}".encode()).hexdigest()[:_HASH]
    return f"{kind}-{meta['name']}"[: _LONGEST - _HASH - 1] + f"-{digest}"


def owner_ref(owner: Obj, *, controller: bool) -> Obj:
    """How a Workload names its owner."""
    ref: Obj = {
        "apiVersion": owner["apiVersion"],
        "kind": owner["kind"],
        "name": owner["metadata"]["name"],
        "uid": owner["metadata"]["uid"],
    }
    if controller:
        ref.update(blockOwnerDeletion=True, controller=True)
    return ref


def mark_group_pod(owner: Obj, pod: Obj) -> None:
    """What Kueue writes on a pod of a managed StatefulSet: all of them are one group, admitted at once."""
    queue = queue_of(owner)
    if queue is None:
        return
    name = workload_name(owner)
    labels, annotations = pod["metadata"]["labels"], pod["metadata"]["annotations"]
    labels.update({MANAGED: "true", GROUP_NAME: name, PREBUILT: name, QUEUE_LABEL: queue})
    priority = (owner["metadata"].get("labels") or {}).get(PRIORITY_LABEL)
    if priority:
        labels[PRIORITY_LABEL] = priority
    annotations.update(
        {
            f"{PREFIX}pod-group-fast-admission": "true",
            f"{PREFIX}pod-group-pod-index-label": "apps.kubernetes.io/pod-index",
            f"{PREFIX}pod-group-serving": "true",
            f"{PREFIX}pod-group-total-count": str(owner["spec"].get("replicas", 1)),
            f"{PREFIX}pod-suspending-parent": "statefulset",
            f"{PREFIX}role-hash": MAIN,
        }
    )
