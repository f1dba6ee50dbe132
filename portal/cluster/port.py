"""The cluster door as a contract. Reconcilers, the watcher and the log reader see this and nothing else of Kubernetes.

Every verb is idempotent as described, has a time-out, never waits for a pod, and raises a `ClusterError` kind only.
Objects are plain JSON dicts in Kubernetes' own shape.
"""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

JsonObject = dict[str, Any]
Propagation = Literal["Background", "Foreground", "Orphan"]


@dataclass(frozen=True)
class Resource:
    """One kind as the API server serves it."""

    api_version: str
    kind: str
    plural: str
    namespaced: bool = True

    @property
    def path(self) -> str:
        """`/api/v1` or `/apis/<group>/<version>`."""
        return f"/api/{self.api_version}" if "/" not in self.api_version else f"/apis/{self.api_version}"


KUEUE = "kueue.x-k8s.io/v1beta2"
RBAC = "rbac.authorization.k8s.io/v1"
RESOURCES: Mapping[str, Resource] = {
    r.kind: r
    for r in (
        Resource("v1", "Namespace", "namespaces", namespaced=False),
        Resource("v1", "Node", "nodes", namespaced=False),
        Resource("v1", "Pod", "pods"),
        Resource("v1", "Service", "services"),
        Resource("v1", "Secret", "secrets"),
        Resource("v1", "ConfigMap", "configmaps"),
        Resource("v1", "PersistentVolumeClaim", "persistentvolumeclaims"),
        Resource("v1", "ServiceAccount", "serviceaccounts"),
        Resource("v1", "ResourceQuota", "resourcequotas"),
        Resource("v1", "LimitRange", "limitranges"),
        Resource("v1", "Event", "events"),
        Resource("apps/v1", "StatefulSet", "statefulsets"),
        Resource("apps/v1", "Deployment", "deployments"),
        Resource("batch/v1", "Job", "jobs"),
        Resource(RBAC, "Role", "roles"),
        Resource(RBAC, "RoleBinding", "rolebindings"),
        Resource("networking.k8s.io/v1", "NetworkPolicy", "networkpolicies"),
        Resource("gateway.networking.k8s.io/v1", "HTTPRoute", "httproutes"),
        Resource(KUEUE, "ResourceFlavor", "resourceflavors", namespaced=False),
        Resource(KUEUE, "ClusterQueue", "clusterqueues", namespaced=False),
        Resource(KUEUE, "Cohort", "cohorts", namespaced=False),
        Resource(KUEUE, "WorkloadPriorityClass", "workloadpriorityclasses", namespaced=False),
        Resource(KUEUE, "LocalQueue", "localqueues"),
        Resource(KUEUE, "Workload", "workloads"),
    )
}


@dataclass(frozen=True)
class ObjectRef:
    """Where one object is. `namespace` is None for cluster-scoped kinds."""

    kind: str
    name: str
    namespace: str | None = None

    @property
    def resource(self) -> Resource:
        return RESOURCES[self.kind]

    @classmethod
    def of(cls, manifest: Mapping[str, Any]) -> ObjectRef:
        meta = manifest["metadata"]
        return cls(manifest["kind"], meta["name"], meta.get("namespace"))


@dataclass(frozen=True)
class Page:
    """One page of a list: items, the list's resourceVersion, the token of the next page (empty: last)."""

    items: list[JsonObject]
    resource_version: str
    next: str = ""


@dataclass(frozen=True)
class WatchEvent:
    """`type` is ADDED, MODIFIED, DELETED or BOOKMARK (then `object` holds only the resourceVersion)."""

    type: str
    object: JsonObject

    @property
    def resource_version(self) -> str:
        return str(self.object.get("metadata", {}).get("resourceVersion", ""))


@dataclass(frozen=True)
class Right:
    """One thing that a role allows. `resource` may be `pods/log`; without a namespace it is meant for all of them."""

    verb: str
    group: str
    resource: str
    namespace: str = ""
    name: str = ""

    def attributes(self) -> dict[str, str]:
        """As a SelfSubjectAccessReview asks for it."""
        resource, _, subresource = self.resource.partition("/")
        asked = {"verb": self.verb, "group": self.group, "resource": resource, "subresource": subresource}
        return {**asked, "namespace": self.namespace, "name": self.name}


@dataclass(frozen=True)
class Discovery:
    """What the server is and serves: version text, and `group/version -> kinds`."""

    version: str
    kinds: Mapping[str, frozenset[str]] = field(default_factory=dict)


class ClusterError(Exception):
    """Base. `retryable`: the same call may go through later. `message` is the server's own words, for people."""

    retryable = False

    def __init__(self, message: str = "", *, retry_after: float | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.retry_after = retry_after


class Unreachable(ClusterError):
    """No answer: refused, reset, timed out, bad certificate. The write may or may not have happened."""

    retryable = True


class ServerTrouble(ClusterError):
    """5xx."""

    retryable = True


class TooManyRequests(ClusterError):
    """429; `retry_after` as the server says."""

    retryable = True


class QueueSystemUnavailable(ClusterError):
    """Kueue's webhook does not answer, so the API server refuses everything it guards (500)."""

    retryable = True


class Unauthorized(ClusterError):
    """401: our credentials are not (or no longer) taken."""

    retryable = True


class Forbidden(ClusterError):
    """403 by RBAC or by a quota or a terminating namespace: needs an administrator."""


class NamespaceTerminating(Forbidden):
    """403: the namespace is going away."""

    retryable = True


class RejectedByWebhook(ClusterError):
    """403 by an admission webhook or policy, with its words."""


class Missing(ClusterError):
    """404."""


class AlreadyExists(ClusterError):
    """409 on create."""


class VersionConflict(ClusterError):
    """409: the object changed, or the uid or resourceVersion precondition does not hold."""

    retryable = True


class FieldConflict(ClusterError):
    """409 on apply: `owners` maps the field path to the other manager's name."""

    def __init__(self, message: str = "", *, owners: Mapping[str, str] | None = None) -> None:
        super().__init__(message)
        self.owners = dict(owners or {})


class InvalidObject(ClusterError):
    """400, 422: the server does not take this object. `causes` maps field paths to messages."""

    def __init__(self, message: str = "", *, causes: Mapping[str, str] | None = None) -> None:
        super().__init__(message)
        self.causes = dict(causes or {})


class Expired(ClusterError):
    """410: the resourceVersion or continue token is too old; list again."""


class ClusterGateway(Protocol):
    """One Kubernetes API server."""

    def create(self, manifest: JsonObject) -> JsonObject:
        """POST. Raises AlreadyExists when the name is taken (the caller looks whose it is)."""

    def apply(self, manifest: JsonObject, *, force: bool = False) -> JsonObject:
        """Server-side apply under our field manager. Without force another manager's field raises FieldConflict."""

    def patch(self, ref: ObjectRef, patch: JsonObject, *, uid: str, resource_version: str) -> JsonObject:
        """JSON merge patch, only onto exactly this uid and resourceVersion; else VersionConflict or Missing."""

    def get(self, ref: ObjectRef) -> JsonObject | None:
        """The object, fresh; None when missing."""

    def list(
        self, kind: str, *, namespace: str | None = None, selector: str = "", limit: int = 500, continue_token: str = ""
    ) -> Page:
        """One page. Raises Expired when the token is too old."""

    def delete(self, ref: ObjectRef, *, uid: str, propagation: Propagation = "Background") -> None:
        """Deletes exactly this uid. Missing, or another uid under the name: success (ours is gone)."""

    def watch(
        self, kind: str, *, resource_version: str, selector: str = "", timeout_seconds: int = 300
    ) -> Generator[WatchEvent]:
        """Streams changes across all namespaces until the time-out; ends silently, raises Expired on 410 and
        Unreachable on a cut or a silence longer than the bookmark interval allows."""

    def logs(
        self,
        namespace: str,
        pod: str,
        *,
        container: str,
        follow: bool = False,
        previous: bool = False,
        since: str = "",
        limit_bytes: int | None = None,
    ) -> Generator[bytes]:
        """Raw bytes with the server's RFC 3339 time stamp before each line, as they come."""

    def discover(self) -> Discovery:
        """Version and served kinds."""

    def pending(self, cluster_queue: str) -> Sequence[str]:
        """`namespace/name` of the Kueue Workloads that wait in a ClusterQueue, in the order in which Kueue will try
        them (its visibility API). Raises Missing where there is no such API or no such queue."""


class ClusterInspector(Protocol):
    """What an administrator's check asks beside the objects that Turno keeps."""

    def look(self, path: str) -> tuple[JsonObject, str]:
        """The answer to a GET of this path, and its Date header as it is. Raises Missing where nothing is there."""

    def allowed(self, right: Right) -> bool:
        """Whether the server would let us."""
