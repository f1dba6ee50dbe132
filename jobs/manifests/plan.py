"""Everything a builder may use: the spec, and the facts of team, cluster, flavor and image, as plain values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

from jobs.manifests import names
from jobs.manifests.secrets import Derived
from jobs.specs import Spec
from portal.cluster import names as cluster_names

JsonObject = dict[str, Any]


@dataclass(frozen=True)
class ImagePlan:
    """What the image needs to run as an ordinary user. `reference` is what is pulled, byte for byte."""

    reference: str
    uid: int = 1000
    gid: int = 1000
    home: str = "/home/user"
    command: tuple[str, ...] = ()
    writable_paths: tuple[str, ...] = ()
    env: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class FlavorPlan:
    """How a pod asks for the flavor: resource name ("" without GPU) and the node labels that pin it."""

    resource: str
    node_labels: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class ClusterPlan:
    """What the cluster's row says about reaching workloads."""

    instance: str
    gateway_name: str
    gateway_namespace: str
    notebook_domain: str
    endpoint_host: str = ""
    auth_filter: Mapping[str, str] = field(default_factory=dict)
    storage_class: str = ""


@dataclass(frozen=True)
class RunPlan:
    """One run to render. `claim`: the home that earlier runs used, which is used again whatever names look like now."""

    workload_id: UUID
    run: int
    spec: Spec
    tenant: str
    namespace: str
    queue: str
    cluster: ClusterPlan
    flavor: FlavorPlan
    image: ImagePlan
    derived: Derived
    priority_class: str = ""
    claim: str = ""

    @property
    def stem(self) -> str:
        return names.stem(self.spec.name, self.workload_id)

    @property
    def run_name(self) -> str:
        return names.of_run(self.spec.name, self.workload_id, self.run)

    @property
    def workload_labels(self) -> dict[str, str]:
        """On everything of the workload."""
        labels = {
            **cluster_names.tenant_labels(self.cluster.instance, self.tenant),
            cluster_names.WORKLOAD: str(self.workload_id),
            cluster_names.KIND: self.spec.kind,
        }
        return labels | ({cluster_names.PROJECT: self.spec.project} if self.spec.project else {})

    @property
    def run_labels(self) -> dict[str, str]:
        """On what lives and dies with the run, its pods among them."""
        return {**self.workload_labels, cluster_names.RUN: str(self.run)}

    @property
    def selector(self) -> dict[str, str]:
        """Chooses the pods of the workload, whatever the run."""
        return {cluster_names.WORKLOAD: str(self.workload_id)}

    @property
    def run_selector(self) -> dict[str, str]:
        """Chooses the pods of this run alone."""
        return {**self.selector, cluster_names.RUN: str(self.run)}

    def owned(self, name: str) -> JsonObject:
        """Metadata of a workload-owned object, the tenant's own labels among ours."""
        return {
            "name": name,
            "namespace": self.namespace,
            "labels": {**self.spec.labels, **self.workload_labels},
        }

    def queued(self) -> JsonObject:
        """Metadata of the run-owned object that Kueue holds back."""
        labels = {**self.spec.labels, **self.run_labels, cluster_names.QUEUE_NAME: self.queue}
        if self.priority_class:
            labels[cluster_names.PRIORITY_CLASS] = self.priority_class
        return {"name": self.run_name, "namespace": self.namespace, "labels": labels}


@dataclass(frozen=True)
class Rendered:
    """One object in the order of creation. Run-owned ones are created once, workload-owned ones are applied."""

    manifest: JsonObject
    owned_by_workload: bool
