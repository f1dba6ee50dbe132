"""Flavors, quotas and the catalogue, as rows; and `Lab`, the four-card server that most tests stand on."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date

from portal.cluster.models import Cluster
from quotas.models import Cohort, Flavor, FlavorPrice, Image, Mode, PriorityClass, Queue, Quota
from tenants.models import Tenant, TenantSpace
from tests.factories import cluster as clusters

H100 = {"nvidia.com/gpu.product": "NVIDIA-H100-80GB-HBM3"}


@dataclass(frozen=True)
class Lab:
    """One cluster with whole cards, slices and plain CPU, in one cohort."""

    cluster: Cluster
    cohort: Cohort
    whole: Flavor  # `h100`, three cards
    half: Flavor  # `h100-3g`, one slice
    slice: Flavor  # `h100-1g`, four slices
    cpu: Flavor


def lab() -> Lab:
    """The demo's server: three whole H100, one cut into one 3g.40gb and four 1g.10gb; priorities and images."""
    on = clusters.cluster("demo")
    rows = Lab(
        cluster=on,
        cohort=Cohort.objects.create(cluster=on, name="lab"),
        whole=flavor(on, "h100", Mode.WHOLE, "nvidia.com/gpu", memory_mib=81559, max_per_node=3),
        half=flavor(on, "h100-3g", Mode.MIG, "nvidia.com/mig-3g.40gb", memory_mib=40960, max_per_node=1),
        slice=flavor(on, "h100-1g", Mode.MIG, "nvidia.com/mig-1g.10gb", memory_mib=10240, max_per_node=4),
        cpu=Flavor.objects.create(cluster=on, name="cpu", mode=Mode.NONE),
    )
    FlavorPrice.objects.create(flavor=rows.whole, valid_from=date(2025, 1, 1), price_hour="2.5000")
    PriorityClass.objects.create(cluster=on, name="low", value=10)
    PriorityClass.objects.create(cluster=on, name="normal", value=100, is_default=True)
    PriorityClass.objects.create(cluster=on, name="high", value=1000, managers_only=True)
    image("jupyterlab", "notebook")
    image("pytorch", "training", "notebook")
    image("vllm", "endpoint")
    image("python", "training")
    return rows


def flavor(on: Cluster, name: str, mode: Mode, resource: str, **fields: object) -> Flavor:
    values: dict[str, object] = {"card": "h100-80", "node_labels": dict(H100), **fields}
    return Flavor.objects.create(cluster=on, name=name, mode=mode, resource=resource, **values)


def image(name: str, *kinds: str, **fields: object) -> Image:
    reference = str(fields.pop("reference", f"registry.turno.example/{name}:1"))
    return Image.objects.create(name=name, reference=reference, kinds=list(kinds), **fields)


def room_for(
    team: Tenant, in_lab: Lab, *, whole: int = 1, half: int = 0, slices: int = 2, borrowing: int | None = 0
) -> Queue:
    """The team may use the lab: a ready space (namespace `turno-<slug>`), a queue, and quotas."""
    space = TenantSpace.objects.create(
        tenant=team, cluster=in_lab.cluster, namespace=f"{in_lab.cluster.prefix}{team.slug}", ready=True
    )
    for row, units in ((in_lab.whole, whole), (in_lab.half, half), (in_lab.slice, slices)):
        quota(team, row, units, borrowing=borrowing)
    return Queue.objects.create(id=space.pk, tenant=team, cluster=in_lab.cluster)


def quota(team: Tenant, of: Flavor, nominal: int, *, borrowing: int | None = 0, lending: int | None = None) -> Quota:
    return Quota.objects.create(
        tenant=team,
        cluster=of.cluster,
        flavor=of,
        resource=of.resource,
        nominal=nominal,
        borrowing_limit=borrowing,
        lending_limit=lending,
    )
