"""How server-side apply sees the fields of the kinds served here: which lists are maps or sets, which maps atomic.

Everything not listed is the default: a map is granular, a list is atomic. The tables hold for the whole registry,
since a field name has one meaning in almost all kinds; the exceptions are named with their kind.
"""

from __future__ import annotations

from portal.cluster.simulated.objects import BY_KIND

FieldPath = tuple[str, ...]
"""Names of fields from the root, list indexes left out."""

_LIST_KEYS: dict[str, tuple[str, ...]] = {
    "admissionChecks": ("name",),
    "addresses": ("type",),
    "conditions": ("type",),
    "containers": ("name",),
    "env": ("name",),
    "flavorsReservation": ("name",),
    "flavorsUsage": ("name",),
    "hostAliases": ("ip",),
    "imagePullSecrets": ("name",),
    "initContainers": ("name",),
    "ownerReferences": ("uid",),
    "podIPs": ("ip",),
    "podSetAssignments": ("name",),
    "podSets": ("name",),
    "reclaimablePods": ("name",),
    "resourceClaims": ("name",),
    "resourceRequests": ("name",),
    "resources": ("name",),
    "schedulingGates": ("name",),
    "secrets": ("name",),
    "topologySpreadConstraints": ("topologyKey", "whenUnsatisfiable"),
    "unhealthyNodes": ("name",),
    "volumeDevices": ("devicePath",),
    "volumeMounts": ("mountPath",),
    "volumes": ("name",),
}
_PORT_KEYS = {"containers": ("containerPort", "protocol"), "initContainers": ("containerPort", "protocol")}
_SERVICE_PORT_KEYS = ("port", "protocol")
_ATOMIC_LISTS = {("Job", ("status", "conditions"))}
_SETS = {"finalizers"}
_ATOMIC_MAPS = {
    "configMapKeyRef",
    "fieldRef",
    "involvedObject",
    "labelSelector",
    "namespaceSelector",
    "nodeLabels",
    "nodeSelector",
    "podSelector",
    "resourceFieldRef",
    "roleRef",
    "scopeSelector",
    "secretKeyRef",
    "selector",
}
_TEMPLATED = {("spec", "template"), ("spec", "template", "metadata"), ("spec", "template", "spec")}
_CONTAINERS = {("spec", "containers"), ("spec", "template", "spec", "containers")}
_STRATEGIES = {("spec", "strategy"), ("spec", "updateStrategy")}
_BUILT_IN_STRUCTS = {("spec",), ("status",)} | _TEMPLATED | _CONTAINERS | _STRATEGIES

KEY_DEFAULTS = {"protocol": "TCP"}
"""A list key that may be left out, and what it then is."""


def is_set(path: FieldPath) -> bool:
    """A list whose items are told apart by their value."""
    return path[-1] in _SETS


def list_keys(kind: str, path: FieldPath) -> tuple[str, ...] | None:
    """The fields that tell the items of a list apart; None: the list is one value."""
    if (kind, path) in _ATOMIC_LISTS:
        return None
    if path[-1] == "ports":
        parent = path[-2] if len(path) > 1 else ""
        return _SERVICE_PORT_KEYS if (kind, path) == ("Service", ("spec", "ports")) else _PORT_KEYS.get(parent)
    return _LIST_KEYS.get(path[-1])


def is_atomic_map(path: FieldPath) -> bool:
    """A map that has one owner as a whole."""
    return bool(path) and path[-1] in _ATOMIC_MAPS


def always_there(kind: str, path: FieldPath) -> bool:
    """A part that the typed form of an object has even when it is empty, so that nobody comes to own its existence."""
    if path in ((), ("metadata",)):
        return True
    return not BY_KIND[kind].custom and path in _BUILT_IN_STRUCTS
