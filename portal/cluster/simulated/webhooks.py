"""Kueue's admission webhooks: what they set in objects, what they refuse, and that they fail closed.

Facts of Kueue 0.17. They do not see the namespaces of the cluster and of Kueue itself.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from portal.cluster.simulated.errors import ApiError, WebhookDenied
from portal.cluster.simulated.objects import Obj
from portal.cluster.simulated.validation import compact

QUEUE_LABEL = "kueue.x-k8s.io/queue-name"
PRIORITY_LABEL = "kueue.x-k8s.io/priority-class"
MAX_EXEC_LABEL = "kueue.x-k8s.io/max-exec-time-seconds"
MANAGED_LABEL = "kueue.x-k8s.io/managed"
MANAGED_FINALIZER = "kueue.x-k8s.io/managed"
IN_USE_FINALIZER = "kueue.x-k8s.io/resource-in-use"
PARENT_ANNOTATION = "kueue.x-k8s.io/pod-suspending-parent"
ROLE_HASH_ANNOTATION = "kueue.x-k8s.io/role-hash"
GATES = ("kueue.x-k8s.io/admission", "kueue.x-k8s.io/topology")

_EXEMPT_NAMESPACES = ("kube-system", "kueue-system")
_SERVICE = "https://kueue-webhook-service.kueue-system.svc:19443"
_QUANTITY = re.compile(r"([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)")
_QUANTITY_TEXT = "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"
_MUTATING = {
    "ClusterQueue": ("mclusterqueue.kb.io", "mutate-kueue-x-k8s-io-v1beta2-clusterqueue"),
    "Deployment": ("mdeployment.kb.io", "mutate-apps-v1-deployment"),
    "Job": ("mjob.kb.io", "mutate-batch-v1-job"),
    "Pod": ("mpod.kb.io", "mutate--v1-pod"),
    "ResourceFlavor": ("mresourceflavor.kb.io", "mutate-kueue-x-k8s-io-v1beta2-resourceflavor"),
    "StatefulSet": ("mstatefulset.kb.io", "mutate-apps-v1-statefulset"),
    "Workload": ("mworkload.kb.io", "mutate-kueue-x-k8s-io-v1beta2-workload"),
}
_VALIDATING = {
    "ClusterQueue": ("vclusterqueue.kb.io", "validate-kueue-x-k8s-io-v1beta2-clusterqueue"),
    "Cohort": ("vcohort.kb.io", "validate-kueue-x-k8s-io-v1beta2-cohort"),
    "Deployment": ("vdeployment.kb.io", "validate-apps-v1-deployment"),
    "Job": ("vjob.kb.io", "validate-batch-v1-job"),
    "ResourceFlavor": ("vresourceflavor.kb.io", "validate-kueue-x-k8s-io-v1beta2-resourceflavor"),
    "StatefulSet": ("vstatefulset.kb.io", "validate-apps-v1-statefulset"),
    "Workload": ("vworkload.kb.io", "validate-kueue-x-k8s-io-v1beta2-workload"),
}
_UPDATED_BY_MUTATING = {"Deployment", "StatefulSet"}


@dataclass
class Webhooks:
    """runs: whether Kueue's manager answers now; while it does not, every write that it would see is refused."""

    runs: Callable[[], bool] = lambda: True

    def mutate(self, obj: Obj, old: Obj | None) -> None:
        """Change the object in place. Raises ApiError."""
        if not _sees(obj) or (old is not None and obj["kind"] not in _UPDATED_BY_MUTATING):
            return
        self._call(_MUTATING.get(obj["kind"]))
        mutator = _MUTATORS.get(obj["kind"])
        if mutator is not None:
            mutator(obj)

    def validate(self, obj: Obj, old: Obj | None) -> None:
        """Raises WebhookDenied, or ApiError when Kueue does not answer."""
        if not _sees(obj):
            return
        self._call(_VALIDATING.get(obj["kind"]))
        if obj["kind"] == "ClusterQueue":
            _deny("vclusterqueue.kb.io", list(_cluster_queue_faults(obj)))
        elif obj["kind"] == "Job" and old is not None:
            _deny("vjob.kb.io", list(_job_faults(obj, old)))
        elif obj["kind"] == "StatefulSet" and old is not None:
            _deny("vstatefulset.kb.io", list(_stateful_set_faults(obj, old)))

    def _call(self, webhook: tuple[str, str] | None) -> None:
        if webhook is None or self.runs():
            return
        name, path = webhook
        text = (
            f'failed calling webhook "{name}": failed to call webhook: Post "{_SERVICE}/{path}?timeout=10s": '
            "dial tcp 127.0.0.1:19443: connect: connection refused"
        )
        raise ApiError(500, "InternalError", f"Internal error occurred: {text}", {"causes": [{"message": text}]})


def _sees(obj: Obj) -> bool:
    return obj["metadata"].get("namespace") not in _EXEMPT_NAMESPACES


def _labels(obj: Obj) -> dict[str, str]:
    return obj["metadata"].get("labels") or {}


def _mutate_job(obj: Obj) -> None:
    if QUEUE_LABEL in _labels(obj):
        obj["spec"]["suspend"] = True


def _mutate_deployment(obj: Obj) -> None:
    if QUEUE_LABEL not in _labels(obj):
        return
    meta = obj["spec"]["template"].setdefault("metadata", {})
    marks = {MANAGED_LABEL: "true", QUEUE_LABEL: _labels(obj)[QUEUE_LABEL]}
    if PRIORITY_LABEL in _labels(obj):
        marks[PRIORITY_LABEL] = _labels(obj)[PRIORITY_LABEL]
    meta["labels"] = {**(meta.get("labels") or {}), **marks}
    meta["annotations"] = {**(meta.get("annotations") or {}), PARENT_ANNOTATION: "deployment"}


def _mutate_stateful_set(obj: Obj) -> None:
    if QUEUE_LABEL in _labels(obj):
        meta = obj["spec"]["template"].setdefault("metadata", {})
        meta["annotations"] = {**(meta.get("annotations") or {}), PARENT_ANNOTATION: "statefulset"}


def _mutate_pod(obj: Obj) -> None:
    if QUEUE_LABEL not in _labels(obj):
        return
    meta, spec = obj["metadata"], obj["spec"]
    meta["labels"] = {**_labels(obj), MANAGED_LABEL: "true"}
    meta["annotations"] = {**(meta.get("annotations") or {}), ROLE_HASH_ANNOTATION: role_hash(spec)}
    meta["finalizers"] = [*(meta.get("finalizers") or []), MANAGED_FINALIZER]
    gates = spec.get("schedulingGates") or []
    spec["schedulingGates"] = [*gates, *({"name": gate} for gate in GATES if {"name": gate} not in gates)]


def role_hash(spec: Obj) -> str:
    """Tells pods of one group that are alike: eight hex digits over what they ask for and where."""
    shape = {
        "containers": [container.get("resources") for container in spec.get("containers") or []],
        "initContainers": [container.get("resources") for container in spec.get("initContainers") or []],
        "nodeSelector": spec.get("nodeSelector"),
        "tolerations": spec.get("tolerations"),
        "affinity": spec.get("affinity"),
        "priority": spec.get("priority"),
    }
    return hashlib.sha256(compact(shape).encode()).hexdigest()[:8]


def _mutate_in_use(obj: Obj) -> None:
    finalizers = obj["metadata"].get("finalizers") or []
    if IN_USE_FINALIZER not in finalizers:
        obj["metadata"]["finalizers"] = [*finalizers, IN_USE_FINALIZER]


def _mutate_cluster_queue(obj: Obj) -> None:
    for _, quota in _quotas(obj):
        for name in ("nominalQuota", "borrowingLimit", "lendingLimit"):
            if name in quota and not _QUANTITY.fullmatch(str(quota[name])):
                raise WebhookDenied("mclusterqueue.kb.io", _QUANTITY_TEXT, status=400)
    _mutate_in_use(obj)


_MUTATORS: dict[str, Callable[[Obj], None]] = {
    "ClusterQueue": _mutate_cluster_queue,
    "Deployment": _mutate_deployment,
    "Job": _mutate_job,
    "Pod": _mutate_pod,
    "ResourceFlavor": _mutate_in_use,
    "StatefulSet": _mutate_stateful_set,
}


def _deny(webhook: str, faults: list[str]) -> None:
    if faults:
        raise WebhookDenied(webhook, faults[0] if len(faults) == 1 else "[" + ", ".join(faults) + "]")


def _quotas(obj: Obj) -> Iterator[tuple[str, Obj]]:
    """(field path, quota) of a ClusterQueue."""
    for group_index, group in enumerate(obj["spec"].get("resourceGroups") or []):
        for flavor_index, flavor in enumerate(group.get("flavors") or []):
            for index, quota in enumerate(flavor.get("resources") or []):
                yield f"spec.resourceGroups[{group_index}].flavors[{flavor_index}].resources[{index}]", quota


def _cluster_queue_faults(obj: Obj) -> Iterator[str]:
    for field, quota in _quotas(obj):
        for name in ("nominalQuota", "borrowingLimit", "lendingLimit"):
            if str(quota.get(name, "")).startswith("-"):
                text = "must be greater than or equal to 0"
                yield f'{field}.{name}: Invalid value: "{quota[name]}": {text}'
    resources: set[Any] = set()
    flavors: set[Any] = set()
    for group_index, group in enumerate(obj["spec"].get("resourceGroups") or []):
        where = f"spec.resourceGroups[{group_index}]"
        for index, resource in enumerate(group.get("coveredResources") or []):
            if resource in resources:
                yield f'{where}.coveredResources[{index}]: Duplicate value: "{resource}"'
            resources.add(resource)
        for index, flavor in enumerate(group.get("flavors") or []):
            if flavor.get("name") in flavors:
                yield f'{where}.flavors[{index}].name: Duplicate value: "{flavor.get("name")}"'
            flavors.add(flavor.get("name"))


def _job_faults(obj: Obj, old: Obj) -> Iterator[str]:
    if old["spec"].get("suspend") or QUEUE_LABEL not in _labels(old):
        return
    for label in (QUEUE_LABEL, MAX_EXEC_LABEL):
        now = _labels(obj).get(label, "")
        if now != _labels(old).get(label, ""):
            yield f'metadata.labels[{label}]: Invalid value: "{now}": field is immutable'


def _stateful_set_faults(obj: Obj, old: Obj) -> Iterator[str]:
    if QUEUE_LABEL not in _labels(old):
        return
    before = old["spec"]["template"]["spec"].get("containers") or []
    for index, container in enumerate(obj["spec"]["template"]["spec"].get("containers") or []):
        now = (container.get("resources") or {}).get("requests") or {}
        was = (before[index].get("resources") or {}).get("requests") or {} if index < len(before) else {}
        if now != was:
            field = f"spec.template.spec.containers[{index}].resources.requests"
            yield f"{field}: Invalid value: {compact(now)}: field is immutable"
