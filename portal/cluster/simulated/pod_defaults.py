"""What the API server fills into pods and pod templates."""

from __future__ import annotations

from portal.cluster.simulated.canonical import canonical, canonicalize_resources
from portal.cluster.simulated.names import random_suffix
from portal.cluster.simulated.objects import Obj

_SPEC: Obj = {
    "restartPolicy": "Always",
    "terminationGracePeriodSeconds": 30,
    "dnsPolicy": "ClusterFirst",
    "schedulerName": "default-scheduler",
}
_PROBES = ("livenessProbe", "readinessProbe", "startupProbe")
_PROBE: Obj = {"timeoutSeconds": 1, "periodSeconds": 10, "successThreshold": 1, "failureThreshold": 3}
_TAINTS = ("node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable")
_TOKEN_MOUNT = "/var/run/secrets/kubernetes.io/serviceaccount"  # noqa: S105
_MODE = 0o644


def fill_template(spec: Obj) -> None:
    """Defaults of a pod's spec, as they also go into templates. Changes it in place."""
    for name, value in _SPEC.items():
        spec.setdefault(name, value)
    spec.setdefault("securityContext", {})
    if "serviceAccountName" in spec:
        spec.setdefault("serviceAccount", spec["serviceAccountName"])
    for volume in spec.get("volumes") or []:
        _fill_volume(volume)
    for container in (*(spec.get("initContainers") or []), *(spec.get("containers") or [])):
        _fill_container(container)


def _fill_volume(volume: Obj) -> None:
    for source in ("configMap", "secret", "projected", "downwardAPI"):
        if isinstance(volume.get(source), dict):
            volume[source].setdefault("defaultMode", _MODE)
    if set(volume) == {"name"}:
        volume["emptyDir"] = {}
    if (volume.get("emptyDir") or {}).get("sizeLimit") is not None:
        volume["emptyDir"]["sizeLimit"] = canonical(volume["emptyDir"]["sizeLimit"])


def _fill_container(container: Obj) -> None:
    container.setdefault("terminationMessagePath", "/dev/termination-log")
    container.setdefault("terminationMessagePolicy", "File")
    container.setdefault("imagePullPolicy", _pull_policy(container.get("image") or ""))
    resources = container.setdefault("resources", {})
    canonicalize_resources(container)
    limits, requests = resources.get("limits") or {}, resources.get("requests") or {}
    if limits and limits.keys() - requests.keys():
        resources["requests"] = {**limits, **requests}
    for port in container.get("ports") or []:
        port.setdefault("protocol", "TCP")
    for variable in container.get("env") or []:
        reference = (variable.get("valueFrom") or {}).get("fieldRef")
        if reference is not None:
            reference.setdefault("apiVersion", "v1")
    for name in _PROBES:
        if container.get(name) is not None:
            _fill_probe(container[name])


def _fill_probe(probe: Obj) -> None:
    for name, value in _PROBE.items():
        probe.setdefault(name, value)
    if isinstance(probe.get("httpGet"), dict):
        probe["httpGet"].setdefault("path", "/")
        probe["httpGet"].setdefault("scheme", "HTTP")


def _pull_policy(image: str) -> str:
    tag = image.rpartition("/")[2].partition(":")[2]
    return "Always" if "@" not in image and tag in ("", "latest") else "IfNotPresent"


def fill_pod(pod: Obj) -> None:
    """What only pods get, beside their template's defaults."""
    spec = pod.setdefault("spec", {})
    fill_template(spec)
    spec.setdefault("enableServiceLinks", True)


def admit_pod(pod: Obj) -> None:
    """What the admission plugins add to a new pod, after the defaults: account, token, tolerations, priority."""
    spec = pod["spec"]
    spec.setdefault("serviceAccountName", "default")
    spec.setdefault("serviceAccount", spec["serviceAccountName"])
    if spec.get("automountServiceAccountToken") is not False:
        _mount_token(spec)
    known = {toleration.get("key") for toleration in spec.get("tolerations") or []}
    spec["tolerations"] = [
        *(spec.get("tolerations") or []),
        *(
            {"key": key, "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 300}
            for key in _TAINTS
            if key not in known
        ),
    ]
    spec.setdefault("priority", 0)
    spec.setdefault("preemptionPolicy", "PreemptLowerPriority")


def _mount_token(spec: Obj) -> None:
    name = f"kube-api-access-{random_suffix()}"
    sources = [
        {"serviceAccountToken": {"expirationSeconds": 3607, "path": "token"}},
        {"configMap": {"name": "kube-root-ca.crt", "items": [{"key": "ca.crt", "path": "ca.crt"}]}},
        {
            "downwardAPI": {
                "items": [{"path": "namespace", "fieldRef": {"apiVersion": "v1", "fieldPath": "metadata.namespace"}}]
            }
        },
    ]
    spec["volumes"] = [
        *(spec.get("volumes") or []),
        {"name": name, "projected": {"sources": sources, "defaultMode": _MODE}},
    ]
    for container in (*(spec.get("initContainers") or []), *(spec.get("containers") or [])):
        mounts = container.get("volumeMounts") or []
        if not any(mount["mountPath"] == _TOKEN_MOUNT for mount in mounts):
            container["volumeMounts"] = [*mounts, {"name": name, "readOnly": True, "mountPath": _TOKEN_MOUNT}]


def gated_status(spec: Obj, at: str) -> Obj:
    """The first status of a pod; a gated one says so."""
    status: Obj = {"phase": "Pending", "qosClass": qos_class(spec)}
    if spec.get("schedulingGates"):
        gated = {
            "type": "PodScheduled",
            "status": "False",
            "lastProbeTime": None,
            "lastTransitionTime": at,
            "reason": "SchedulingGated",
            "message": "Scheduling is blocked due to non-empty scheduling gates",
        }
        status["conditions"] = [gated]
    return status


def qos_class(spec: Obj) -> str:
    """Guaranteed, Burstable or BestEffort, by cpu and memory."""
    asked = [container.get("resources") or {} for container in spec.get("containers") or []]
    if not any(
        name in (resources.get(part) or {})
        for resources in asked
        for part in ("requests", "limits")
        for name in ("cpu", "memory")
    ):
        return "BestEffort"
    return "Guaranteed" if all(_is_guaranteed(resources) for resources in asked) else "Burstable"


def _is_guaranteed(resources: Obj) -> bool:
    limits = resources.get("limits") or {}
    requests = {**limits, **(resources.get("requests") or {})}
    return all(name in limits and requests[name] == limits[name] for name in ("cpu", "memory"))
