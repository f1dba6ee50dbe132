"""What an administrator wants to know of a cluster before trusting it: asked once, judged in plain sentences."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from email.utils import parsedate_to_datetime
from enum import StrEnum
from typing import Any

import yaml
from django.utils.translation import gettext, gettext_noop

from portal.cluster import rights
from portal.cluster.models import Cluster, MirrorObject
from portal.cluster.port import ClusterError, ClusterInspector, Forbidden, JsonObject, Missing, Right
from portal.kernel import clock

KUBERNETES, KUEUE = ((1, 34), (1, 36)), ((0, 17), (0, 19))
SECONDS_OFF = 5.0
_KUEUE_AT = "/api/v1/namespaces/kueue-system/configmaps/kueue-manager-config"
_MANAGER_AT = "/apis/apps/v1/namespaces/kueue-system/deployments/kueue-controller-manager"
_NAME = "kubernetes.io/metadata.name"
_VERSION = re.compile(r"v?(\d+)\.(\d+)")


class Level(StrEnum):
    """A fault stops something that Turno offers; a warning may; the rest is to be known."""

    OK = "ok"
    NOTE = "note"
    WARNING = "warning"
    FAULT = "fault"


@dataclass(frozen=True)
class Finding:
    """One sentence, translated when it is shown and filled with `params`; `loss` is a sentence of its own."""

    level: Level
    message: str
    params: Mapping[str, str] = field(default_factory=dict)

    def text(self) -> str:
        """In the language of whoever reads it."""
        said = {key: gettext(value) if key == "loss" else value for key, value in self.params.items()}
        return gettext(self.message) % said


@dataclass
class Facts:
    """What the server said, and what its mirror shows. `kinds`: `group/Kind`. None: could not be read."""

    version: str = ""
    simulated: bool = False
    seconds_off: float | None = None
    kinds: frozenset[str] = frozenset()
    missing_rights: tuple[Right, ...] = ()
    kueue_version: str | None = None
    kueue_settings: JsonObject | None = None
    portal_labels: Mapping[str, str] = field(default_factory=dict)
    portal_namespace: str = ""
    foreign_queues: tuple[str, ...] = ()
    nodes_without_gpu: tuple[str, ...] = ()


# What the server may have beside Kubernetes: one of its kinds, what is said where it is missing, and how bad that is.
OPERATORS: tuple[tuple[str, str, Level, str], ...] = (
    ("Kueue", "kueue.x-k8s.io/ClusterQueue", Level.FAULT, gettext_noop("nothing can be queued")),
    ("Gateway API", "gateway.networking.k8s.io/HTTPRoute", Level.FAULT, gettext_noop("nothing can be connected to")),
    ("KServe", "serving.kserve.io/InferenceService", Level.NOTE, gettext_noop("endpoints are plain vLLM only")),
    ("Kubeflow Trainer", "trainer.kubeflow.org/TrainJob", Level.NOTE, gettext_noop("no training by TrainJob")),
    ("Training operator", "kubeflow.org/PyTorchJob", Level.NOTE, gettext_noop("no training by PyTorchJob")),
    ("MPI operator", "kubeflow.org/MPIJob", Level.NOTE, gettext_noop("no training by MPIJob")),
    ("KubeRay", "ray.io/RayJob", Level.NOTE, gettext_noop("no training by RayJob")),
    ("JobSet", "jobset.x-k8s.io/JobSet", Level.NOTE, gettext_noop("no training by TrainJob")),
    (
        "LeaderWorkerSet",
        "leaderworkerset.x-k8s.io/LeaderWorkerSet",
        Level.NOTE,
        gettext_noop("no endpoints of several nodes"),
    ),
    ("Volcano", "batch.volcano.sh/Job", Level.NOTE, gettext_noop("no training by Volcano")),
    ("KEDA", "keda.sh/ScaledObject", Level.NOTE, gettext_noop("endpoints do not scale by load")),
    (
        "Prometheus operator",
        "monitoring.coreos.com/PrometheusRule",
        Level.NOTE,
        gettext_noop("rules come from a file"),
    ),
    ("DRA", "resource.k8s.io/DeviceClass", Level.NOTE, gettext_noop("no cards by claim")),
)


def check(cluster: Cluster, door: ClusterInspector, process: str = "worker") -> list[Finding]:
    """Asks and judges. `process`: whose rights are looked at (`rights.PROCESSES`); the door must be that process's."""
    try:
        facts = gather(cluster, door, process)
    except ClusterError as error:
        said = f"{type(error).__name__}: {error.message}"
        return [Finding(Level.FAULT, gettext_noop("The server does not answer: %(why)s"), {"why": said})]
    return list(judge(facts))


def gather(cluster: Cluster, door: ClusterInspector, process: str) -> Facts:
    """Raises ClusterError where the server does not answer at all; what it refuses to tell stays None."""
    said, date = door.look("/version")
    objects = MirrorObject.objects.filter(cluster=cluster)
    teams = tuple(objects.filter(kind="Namespace", ours=True).order_by("name").values_list("name", flat=True)[:1])
    facts = Facts(
        version=str(said.get("gitVersion", "")),
        simulated=said.get("platform") == "simulated",
        seconds_off=_seconds_off(date, clock.now()),
        kinds=_kinds(door),
        missing_rights=tuple(right for right in rights.needed(process, teams) if not door.allowed(right)),
        portal_namespace=cluster.portal_namespace,
    )
    facts.kueue_version = _kueue_version(_try(door, _MANAGER_AT))
    facts.kueue_settings = _kueue_settings(_try(door, _KUEUE_AT))
    own = _try(door, f"/api/v1/namespaces/{cluster.portal_namespace}") or {}
    facts.portal_labels = {_NAME: cluster.portal_namespace, **((own.get("metadata") or {}).get("labels") or {})}
    queues = objects.filter(kind="ClusterQueue", ours=False).order_by("name")
    facts.foreign_queues = tuple(queues.values_list("name", flat=True))
    nodes = objects.filter(kind="Node").order_by("name").values_list("name", "data")
    facts.nodes_without_gpu = tuple(name for name, data in nodes if _promises_gpu(data) and not _has_gpu(data))
    return facts


def judge(facts: Facts) -> Iterator[Finding]:
    """Pure: the sentences, the server first."""
    if facts.simulated:
        yield Finding(Level.NOTE, gettext_noop("This is the simulated cluster."))
    yield _supported("Kubernetes", facts.version, KUBERNETES)
    yield _clock(facts.seconds_off)
    for name, kind, level, loss in OPERATORS:
        if kind in facts.kinds:
            yield Finding(Level.OK, gettext_noop("%(name)s is there."), {"name": name})
        else:
            yield Finding(level, gettext_noop("%(name)s is not there: %(loss)s."), {"name": name, "loss": loss})
    yield from _kueue(facts)
    for right in facts.missing_rights:
        where = right.namespace or "*"
        what = f"{right.resource}.{right.group}".rstrip(".") + (f"/{right.name}" if right.name else "")
        said = {"verb": right.verb, "what": what, "namespace": where}
        yield Finding(Level.FAULT, gettext_noop("A right is missing: %(verb)s %(what)s in %(namespace)s."), said)
    for queue in facts.foreign_queues:
        yield Finding(Level.NOTE, gettext_noop("The ClusterQueue %(name)s is not Turno's."), {"name": queue})
    for node in facts.nodes_without_gpu:
        told = gettext_noop("The node %(name)s is labelled as one with GPUs and has none to give.")
        yield Finding(Level.WARNING, told, {"name": node})


def _supported(name: str, version: str, known: tuple[tuple[int, int], tuple[int, int]]) -> Finding:
    found = _VERSION.match(version)
    first, last = known
    said = {"name": name, "version": version, "first": "{}.{}".format(*first), "last": "{}.{}".format(*last)}
    if found is not None and first <= (int(found[1]), int(found[2])) <= last:
        return Finding(Level.OK, gettext_noop("%(name)s is %(version)s."), said)
    told = gettext_noop("%(name)s is %(version)s; Turno is tested with %(first)s to %(last)s.")
    return Finding(Level.WARNING, told, said)


def _clock(seconds: float | None) -> Finding:
    if seconds is None:
        return Finding(Level.NOTE, gettext_noop("The server does not say what time it is."))
    if abs(seconds) <= SECONDS_OFF:
        return Finding(Level.OK, gettext_noop("The server's clock and this one agree."))
    told = gettext_noop("The server's clock differs from this one by %(seconds)s s.")
    return Finding(Level.WARNING, told, {"seconds": f"{seconds:+.0f}"})


def _kueue(facts: Facts) -> Iterator[Finding]:
    if "kueue.x-k8s.io/ClusterQueue" not in facts.kinds:
        return
    if facts.kueue_version is None:
        yield Finding(Level.NOTE, gettext_noop("Kueue's version cannot be read from here."))
    else:
        yield _supported("Kueue", facts.kueue_version, KUEUE)
    settings = facts.kueue_settings
    if settings is None:
        yield Finding(Level.NOTE, gettext_noop("Kueue's configuration cannot be read from here."))
        return
    frameworks = ", ".join((settings.get("integrations") or {}).get("frameworks") or [])
    yield Finding(Level.NOTE, gettext_noop("Kueue governs: %(frameworks)s."), {"frameworks": frameworks or "-"})
    selector = settings.get("managedJobsNamespaceSelector")
    if settings.get("manageJobsWithoutQueueName") is True and _selects(selector, facts.portal_labels):
        told = gettext_noop(
            "Kueue would hold back Turno's own processes: take the namespace %(name)s out in its"
            " managedJobsNamespaceSelector."
        )
        yield Finding(Level.FAULT, told, {"name": facts.portal_namespace})


def _selects(selector: Any, labels: Mapping[str, str]) -> bool:
    """Kubernetes' label selector. None here stands for Kueue's default: all but kube-system and its own."""
    told = selector or {}
    if any(labels.get(key) != value for key, value in (told.get("matchLabels") or {}).items()):
        return False
    return all(_holds(one, labels) for one in told.get("matchExpressions") or [])


def _holds(one: Mapping[str, Any], labels: Mapping[str, str]) -> bool:
    value, values = labels.get(str(one.get("key"))), one.get("values") or []
    operator = one.get("operator")
    if operator == "In":
        return value in values
    if operator == "NotIn":
        return value not in values
    return (value is not None) is (operator == "Exists")


def _try(door: ClusterInspector, path: str) -> JsonObject | None:
    try:
        return door.look(path)[0]
    except (Missing, Forbidden):
        return None


def _kinds(door: ClusterInspector) -> frozenset[str]:
    """Of the groups of OPERATORS, in every version that is served."""
    wanted = {kind.partition("/")[0] for _, kind, _, _ in OPERATORS}
    found: set[str] = set()
    for group in door.look("/apis")[0].get("groups") or []:
        for version in group.get("versions") or [] if group.get("name") in wanted else []:
            listed = (_try(door, f"/apis/{version['groupVersion']}") or {}).get("resources") or []
            found |= {f"{group['name']}/{one.get('kind')}" for one in listed}
    return frozenset(found)


def _seconds_off(date: str, now: datetime) -> float | None:
    try:
        return (parsedate_to_datetime(date) - now).total_seconds()
    except (TypeError, ValueError):
        return None


def _kueue_version(manager: JsonObject | None) -> str | None:
    pods = (((manager or {}).get("spec") or {}).get("template") or {}).get("spec") or {}
    tags = [str(one.get("image", "")).rpartition(":")[2] for one in pods.get("containers") or []]
    return next((tag for tag in tags if _VERSION.match(tag)), None)


def _kueue_settings(found: JsonObject | None) -> JsonObject | None:
    text = ((found or {}).get("data") or {}).get("controller_manager_config.yaml")
    try:
        said = yaml.safe_load(text) if text else None
    except yaml.YAMLError:
        return None
    return said if isinstance(said, dict) else None


def _promises_gpu(node: JsonObject) -> bool:
    labels = (node.get("metadata") or {}).get("labels") or {}
    return labels.get("nvidia.com/gpu.present") == "true" or "nvidia.com/gpu.product" in labels


def _has_gpu(node: JsonObject) -> bool:
    given = (node.get("status") or {}).get("allocatable") or {}
    return any(name.startswith("nvidia.com/") and str(units) != "0" for name, units in given.items())
