"""The types of the fields that something here reads, as the typed decoders of a real server would insist on them.

A shape is a type, `{}` for any object, a dict of shapes by field (fields it does not name may hold anything), a list of
one shape, or `TEXTS` for a map of texts.
"""

from __future__ import annotations

from typing import Any

from portal.cluster.simulated.canonical import QUANTITY_TEXT, is_quantity

TEXTS = "map[string]string"
Shape = Any
_AMOUNT: Shape = "Quantity"
_AMOUNTS: Shape = "map[string]Quantity"
_INT_OR_TEXT: Shape = "IntOrString"

_META: Shape = {
    "name": str,
    "generateName": str,
    "namespace": str,
    "uid": str,
    "resourceVersion": str,
    "labels": TEXTS,
    "annotations": TEXTS,
    "finalizers": [str],
    "ownerReferences": [{"apiVersion": str, "kind": str, "name": str, "uid": str}],
    "managedFields": [{"manager": str, "operation": str}],
}
_RESOURCES: Shape = {"limits": _AMOUNTS, "requests": _AMOUNTS}
_PROBE: Shape = {"httpGet": {}, "exec": {}, "tcpSocket": {}}
_CONTAINER: Shape = {
    "name": str,
    "image": str,
    "command": [str],
    "args": [str],
    "env": [{"name": str, "value": str, "valueFrom": {"fieldRef": {}, "secretKeyRef": {}}}],
    "ports": [{"name": str, "containerPort": int, "protocol": str}],
    "resources": _RESOURCES,
    "volumeMounts": [{"name": str, "mountPath": str}],
    "securityContext": {},
    "livenessProbe": _PROBE,
    "readinessProbe": _PROBE,
    "startupProbe": _PROBE,
}
_POD_SPEC: Shape = {
    "containers": [_CONTAINER],
    "initContainers": [_CONTAINER],
    "volumes": [{"name": str, "emptyDir": {"sizeLimit": _AMOUNT}}],
    "tolerations": [{"key": str}],
    "nodeSelector": TEXTS,
    "schedulingGates": [{"name": str}],
    "securityContext": {},
    "serviceAccountName": str,
    "nodeName": str,
    "hostNetwork": bool,
    "automountServiceAccountToken": bool,
    "terminationGracePeriodSeconds": int,
    "restartPolicy": str,
}
_TEMPLATE: Shape = {"metadata": _META, "spec": _POD_SPEC}
_SELECTOR: Shape = {"matchLabels": TEXTS, "matchExpressions": [{}]}
_PORTS: Shape = [{"name": str, "port": int, "protocol": str, "targetPort": _INT_OR_TEXT}]
_GROUPS: Shape = [{"coveredResources": [str], "flavors": [{"name": str, "resources": [{"name": str}]}]}]
_POLICY_RULE: Shape = {"ports": [{"protocol": str}]}
_SPECS: dict[str, Shape] = {
    "ClusterQueue": {
        "cohortName": str,
        "resourceGroups": _GROUPS,
        "preemption": {"borrowWithinCohort": {}},
        "flavorFungibility": {},
        "fairSharing": {},
        "stopPolicy": str,
    },
    "Cohort": {"parentName": str, "resourceGroups": _GROUPS, "fairSharing": {}},
    "Deployment": {
        "replicas": int,
        "selector": _SELECTOR,
        "template": _TEMPLATE,
        "strategy": {"type": str, "rollingUpdate": {"maxSurge": _INT_OR_TEXT, "maxUnavailable": _INT_OR_TEXT}},
    },
    "HTTPRoute": {
        "hostnames": [str],
        "parentRefs": [{"name": str}],
        "rules": [
            {
                "matches": [{"path": {}, "headers": [{}], "queryParams": [{}]}],
                "backendRefs": [{"name": str, "port": int}],
                "filters": [{"type": str, "extensionRef": {}}],
            }
        ],
    },
    "Job": {
        "parallelism": int,
        "completions": int,
        "backoffLimit": int,
        "suspend": bool,
        "selector": _SELECTOR,
        "template": _TEMPLATE,
    },
    "LimitRange": {
        "limits": [{"type": str, "min": _AMOUNTS, "max": _AMOUNTS, "default": _AMOUNTS, "defaultRequest": _AMOUNTS}]
    },
    "LocalQueue": {"clusterQueue": str, "stopPolicy": str},
    "NetworkPolicy": {
        "podSelector": _SELECTOR,
        "policyTypes": [str],
        "ingress": [_POLICY_RULE],
        "egress": [_POLICY_RULE],
    },
    "Node": {"taints": [{"key": str}], "unschedulable": bool},
    "PersistentVolumeClaim": {"accessModes": [str], "resources": _RESOURCES, "volumeName": str},
    "Pod": _POD_SPEC,
    "ReplicaSet": {"replicas": int, "selector": _SELECTOR, "template": _TEMPLATE},
    "ResourceQuota": {"hard": _AMOUNTS},
    "ResourceFlavor": {"nodeLabels": TEXTS, "nodeTaints": [{}], "tolerations": [{}]},
    "Service": {"type": str, "selector": TEXTS, "ports": _PORTS, "clusterIP": str},
    "StatefulSet": {
        "replicas": int,
        "serviceName": str,
        "selector": _SELECTOR,
        "template": _TEMPLATE,
        "updateStrategy": {"type": str, "rollingUpdate": {}},
        "persistentVolumeClaimRetentionPolicy": {},
        "volumeClaimTemplates": [{"metadata": _META, "spec": {}}],
    },
    "Workload": {"active": bool, "queueName": str, "podSets": [{"name": str, "count": int, "template": _TEMPLATE}]},
}
_OTHER: dict[str, Shape] = {
    "ConfigMap": {"data": TEXTS},
    "RoleBinding": {"roleRef": {"kind": str, "name": str}, "subjects": [{"kind": str, "name": str}]},
    "Secret": {"data": TEXTS, "stringData": TEXTS, "type": str},
    "WorkloadPriorityClass": {"value": int},
}


def fault(obj: dict[str, Any]) -> str | None:
    """The first field of a wrong type, in the words of Go's JSON decoder; None when all is well."""
    kind = obj["kind"]
    shape = {"metadata": _META, "spec": _SPECS.get(kind, {}), "status": {"conditions": [{}]}, **_OTHER.get(kind, {})}
    found = _fault(obj, shape, ())
    if found is None:
        return None
    path, value, wanted = found
    if wanted == _AMOUNT:
        return QUANTITY_TEXT
    said = {bool: "bool", int: "number", float: "number", str: "string", list: "array"}.get(type(value), "object")
    return f"json: cannot unmarshal {said} into Go struct field {kind}.{'.'.join(path)} of type {wanted}"


_Fault = tuple[tuple[str, ...], Any, str]


def _fault(value: Any, shape: Shape, path: tuple[str, ...]) -> _Fault | None:
    if isinstance(shape, dict):
        if not isinstance(value, dict):
            return path, value, "object"
        below = (_fault(value[name], inner, (*path, name)) for name, inner in shape.items() if name in value)
        return next((found for found in below if found is not None), None)
    if isinstance(shape, list):
        if not isinstance(value, list):
            return path, value, "[]"
        items = (_fault(item, shape[0], path) for item in value)
        return next((found for found in items if found is not None), None)
    return _leaf_fault(value, shape, path)


def _leaf_fault(value: Any, shape: Shape, path: tuple[str, ...]) -> _Fault | None:
    if shape in (TEXTS, _AMOUNTS):
        if not isinstance(value, dict):
            return path, value, shape
        inner = str if shape == TEXTS else _AMOUNT
        return next((found for each in value.values() if (found := _leaf_fault(each, inner, path))), None)
    if shape == _AMOUNT:
        return None if is_quantity(value) else (path, value, _AMOUNT)
    types: Any = (str, int) if shape == _INT_OR_TEXT else shape
    if isinstance(value, types) and not (isinstance(value, bool) and shape is not bool):
        return None
    return path, value, {str: "string", int: "int32", bool: "bool"}.get(shape, str(shape))
