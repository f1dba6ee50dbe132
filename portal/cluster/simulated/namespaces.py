"""What a namespace is furnished with, and the namespaces that every cluster has."""

from __future__ import annotations

from portal.cluster.simulated.objects import Obj
from portal.cluster.simulated.store import Store

_FIRST = ("default", "kube-system", "kueue-system")
_CLUSTER_ROLES = ("cluster-admin", "admin", "edit", "view")
_CA_NOTE = (
    "Contains a CA bundle that can be used to verify the kube-apiserver when using internal endpoints such as the"
    " internal service IP or kubernetes.default.svc. No other usage is guaranteed across distributions of Kubernetes"
    " clusters."
)


def furnish(store: Store, namespace: str) -> None:
    """The service account and the certificate bundle that controllers put into each new namespace."""
    meta: Obj = {"name": "default", "namespace": namespace}
    store.create({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": meta})
    meta = {
        "name": "kube-root-ca.crt",
        "namespace": namespace,
        "annotations": {"kubernetes.io/description": _CA_NOTE},
    }
    store.create({"apiVersion": "v1", "kind": "ConfigMap", "metadata": meta, "data": {"ca.crt": ""}})


def bootstrap(store: Store) -> None:
    """What an empty cluster starts with; does nothing to what is there already."""
    for name in _FIRST:
        if store.get("Namespace", None, name) is not None:
            continue
        meta: Obj = {"name": name, "labels": {"kubernetes.io/metadata.name": name}}
        namespace: Obj = {"apiVersion": "v1", "kind": "Namespace", "metadata": meta}
        store.create({**namespace, "spec": {"finalizers": ["kubernetes"]}, "status": {"phase": "Active"}})
        furnish(store, name)
    for name in _CLUSTER_ROLES:
        if store.get("ClusterRole", None, name) is None:
            role: Obj = {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "rules": []}
            store.create({**role, "metadata": {"name": name}})
