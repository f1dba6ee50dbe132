"""A workload and its surroundings -> the plan that builders read, and the dry run that shows what they would make."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from django.conf import settings

from jobs.manifests.catalogue import render
from jobs.manifests.plan import ClusterPlan, FlavorPlan, ImagePlan, RunPlan
from jobs.manifests.secrets import Derived
from jobs.models import Workload
from jobs.services.foreseeing import foreseen, never
from jobs.services.judging import chosen_flavor, columns, judged
from jobs.services.limits import check_place
from jobs.specs import Spec
from jobs.specs.images import is_reference
from portal.cluster import names
from portal.cluster.models import Cluster
from portal.kernel import ids
from portal.kernel.actors import Actor
from portal.kernel.errors import Invalid
from quotas import selectors as quotas


@dataclass(frozen=True)
class DryRun:
    """What the real call would do. `preview` is None while the mirror knows nothing."""

    valid: bool
    manifests: list[dict[str, Any]]
    preview: dict[str, Any] | None = None


def plan(row: Workload, spec: Spec, *, run: int, namespace: str, claim: str = "") -> RunPlan:
    """Everything that the builders of this run need. Secrets are markers of the workload's key and rotation."""
    return RunPlan(
        workload_id=row.pk,
        run=run,
        spec=spec,
        tenant=row.tenant.slug,
        namespace=namespace,
        queue=row.tenant.slug,
        cluster=_cluster(row.cluster),
        flavor=FlavorPlan(row.flavor.resource, row.flavor.node_labels),
        image=_image(spec.image),
        derived=Derived(row.kind, row.key_id, row.key_rotation),
        priority_class=names.prefixed(row.cluster.prefix, spec.priority) if spec.priority else "",
        claim=claim,
    )


def _cluster(row: Cluster) -> ClusterPlan:
    host = urlsplit(row.endpoint_url).hostname or ""
    return ClusterPlan(
        instance=row.instance,
        gateway_name=row.gateway_name,
        gateway_namespace=row.gateway_namespace,
        notebook_domain=row.notebook_domain,
        endpoint_host="" if _is_address(host) else host,
        auth_filter=row.auth_filter,
        storage_class=row.storage_class,
    )


def _is_address(host: str) -> bool:
    """A route's hostname is a DNS name; an address (the demo's) matches every host."""
    return ":" in host or host.replace(".", "").isdigit() or "." not in host


def _image(image: str) -> ImagePlan:
    if is_reference(image):
        return ImagePlan(reference=image)
    row = quotas.image(image)
    return ImagePlan(
        reference=row.reference,
        uid=row.uid,
        gid=row.gid,
        home=row.home,
        command=tuple(row.command),
        writable_paths=tuple(row.writable_paths),
        env=row.env,
    )


def preview(actor: Actor, *, kind: str, data: Mapping[str, Any]) -> DryRun:
    """Validates and renders, writes nothing. Raises what `submit` raises, except that `exceeds_maximum` is `never`."""
    try:
        asked = judged(actor, kind=kind, data=data)
    except Invalid as error:
        if all(fault.code == "exceeds_maximum" for fault in error.errors):
            return DryRun(valid=True, manifests=[], preview=never(actor, kind, error.errors[0], data))
        raise
    check_place(asked.tenant.pk, kind, asked.spec.name, asked.team.policy.max_live)
    flavor = chosen_flavor(asked.spec)  # whole: what was judged by has few of its columns
    row = Workload(
        id=ids.uuid7(),
        tenant=asked.tenant,
        cluster=flavor.cluster,
        flavor=flavor,
        kind=kind,
        variant=asked.spec.variant,
        name=asked.spec.name,
        key_id=next(iter(settings.TOKEN_KEYS)),
        **columns(asked.spec),
    )
    namespace = names.prefixed(flavor.cluster.prefix, asked.tenant.slug)
    made = render(plan(row, asked.spec, run=1, namespace=namespace))
    return DryRun(valid=True, manifests=[one.manifest for one in made], preview=foreseen(actor, asked, flavor))
