"""Plans to render without a database."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from jobs.manifests.catalogue import render
from jobs.manifests.plan import ClusterPlan, FlavorPlan, ImagePlan, RunPlan
from jobs.manifests.secrets import Derived
from tests.factories import jobs
from tests.jobs.requests import OPEN, judged

WORKLOAD = UUID("01890000-0000-7000-8000-00000000abcd")
STEM = "000000abcd"
SLICE = FlavorPlan("nvidia.com/mig-1g.10gb", {"nvidia.com/gpu.product": "NVIDIA-H100-80GB-HBM3"})
NO_GPU = FlavorPlan("")
LABELS = {
    "app.kubernetes.io/managed-by": "turno",
    "turno.dev/instance": "turno",
    "turno.dev/tenant": "data",
    "turno.dev/workload": str(WORKLOAD),
}


def plan(kind: str, *, on: FlavorPlan = SLICE, run: int = 1, **changes: Any) -> RunPlan:
    """A run of the kind's plain request with these changes; keywords of the plan itself win over the request's."""
    own = {name: changes.pop(name) for name in ("image_plan", "claim", "cluster", "namespace") if name in changes}
    if "image" not in changes:
        changes["image"] = jobs.REQUESTS[kind]["image"]
    return RunPlan(
        workload_id=WORKLOAD,
        run=run,
        spec=judged(kind, OPEN, **changes),
        tenant="data",
        namespace=str(own.get("namespace", "turno-data")),
        queue="data",
        cluster=own.get(
            "cluster", ClusterPlan("turno", "turno", "turno-gateway", "localhost", auth_filter=jobs.AUTH_FILTER)
        ),
        flavor=on,
        image=own.get("image_plan", ImagePlan("registry.turno.example/x:1")),
        derived=Derived(kind, "k1", 1),
        priority_class="turno-normal",
        claim=str(own.get("claim", "")),
    )


def made(kind: str, **changes: Any) -> dict[str, dict[str, Any]]:
    """kind of object -> manifest, in the order of creation."""
    return {one.manifest["kind"]: one.manifest for one in render(plan(kind, **changes))}


def container(manifest: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = manifest["spec"]["template"]["spec"]["containers"][0]
    return found


def env(manifest: dict[str, Any]) -> dict[str, Any]:
    """name -> value, or where it comes from."""
    return {one["name"]: one.get("value", one.get("valueFrom")) for one in container(manifest)["env"]}
