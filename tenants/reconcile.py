"""One pass over a team's namespace on one cluster (work kind `tenantspace`): it is made, mended, and made again."""

from __future__ import annotations

from django.utils.translation import gettext_noop

from portal.cluster import selectors as mirror
from portal.cluster.applied import Outcome
from portal.cluster.port import ClusterGateway
from portal.cluster.upkeep import AGAIN_SOON, Pass, keep_objects
from portal.kernel import clock, feed, work
from portal.kernel.transaction import transaction
from portal.kernel.work import Lease, Retry
from tenants import manifests, observe, selectors
from tenants.models import TenantSpace, TenantState

KIND = "tenantspace"


def one(lease: Lease, gateway: ClusterGateway) -> float | None:
    """Returns in how many seconds to look again. Raises Retry for what passes by itself, and LeaseLost.

    An archived team's namespace is left as it is: the administrator who deletes it shall find it gone.
    """
    space = selectors.space(lease.object_id)
    if space is None:
        forget(lease)
        return None
    if space.tenant.state == TenantState.ARCHIVED:
        return None
    objects = manifests.space(spec_of(space))
    seen = mirror.mirrored(space.cluster_id, objects[:1])
    if any(observe.is_terminating(row.data) for row in seen.values()):
        done = Pass(AGAIN_SOON, problem="The namespace is being deleted.", retry=True, blocked=True)
    else:
        done = keep_objects(lease, gateway, space.cluster, objects, space)
    _record(lease, space, done)
    if done.retry:
        raise Retry(done.problem, after=done.again)
    if done.forbidden and not space.ready:  # the server may not know yet of the rights that were just given
        raise Retry(done.problem)
    return done.again


def spec_of(space: TenantSpace) -> manifests.SpaceSpec:
    """The namespace as the team's policy and the cluster's settings want it now."""
    cluster = space.cluster
    return manifests.SpaceSpec(
        space_id=space.pk,
        tenant=space.tenant.slug,
        namespace=space.namespace,
        instance=cluster.instance,
        prefix=cluster.prefix,
        portal_namespace=cluster.portal_namespace,
        egress=selectors.policy_of(space.tenant_id).egress,
        ingress_namespaces=(cluster.gateway_namespace, *cluster.ingress_namespaces),
        dns_cidrs=tuple(cluster.dns_cidrs),
        api_server_cidrs=tuple(cluster.api_server_cidrs),
    )


def _record(lease: Lease, space: TenantSpace, done: Pass) -> None:
    """The row says what was applied, whether work can go there, and the problem in the cluster's own words."""
    with transaction():
        lease.fence()
        row = TenantSpace.objects.filter(pk=space.pk)
        if done.outcome is None:
            row.update(problem=done.problem, **({"ready": False} if done.blocked else {}))
            return
        row.update(applied=done.outcome.applied, ready=True, problem="", synced_at=clock.now())
        if not space.ready or done.outcome.recreated:  # what other rooms keep in the namespace went with it
            work.wake("queue", space.pk)
        _tell(space, done.outcome)


def _tell(space: TenantSpace, outcome: Outcome) -> None:
    """The team's feed says what others did to its namespace and that it was mended."""
    changed = [
        ("space_recreated", key, "", gettext_noop("%(object)s had been deleted outside and was made again."))
        for key in outcome.recreated
    ]
    for drift in outcome.drift:
        managers = ", ".join(sorted(set(drift.managers.values())))
        said = gettext_noop("%(object)s had been changed outside and was put right (%(managers)s).")
        changed.append(("space_mended", drift.key, managers, said))
    for type_, key, managers, message in changed:
        feed.append(
            scope=feed.tenant_scope(space.tenant_id),
            topic=KIND,
            object_id=space.pk,
            type=type_,
            reason="deleted_outside" if type_ == "space_recreated" else "drift",
            message=message,
            params={"object": key, "managers": managers or "?"},
        )


def forget(lease: Lease) -> None:
    """The row is gone: nothing remains to be kept true."""
    with transaction():
        lease.fence()
        work.forget(KIND, lease.object_id)
