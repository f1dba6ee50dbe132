"""One pass over a row that is kept as applied objects: what came of it, and when to look again.

Failures that pass by themselves and those that need a person are told apart here, once for teams and quotas.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from portal.cluster import names, selectors
from portal.cluster.applied import NameTaken, Outcome, keep
from portal.cluster.models import Cluster
from portal.cluster.port import (
    ClusterError,
    ClusterGateway,
    Forbidden,
    JsonObject,
    Missing,
    NamespaceTerminating,
    ObjectRef,
)
from portal.kernel.work import Lease

RESYNC = 600.0  # seconds: a floor under what the watcher tells
AGAIN_REFUSED = 60.0  # seconds: what a person has to mend
AGAIN_SOON = 2.0


class Kept(Protocol):
    """A row that remembers what it applied."""

    applied: dict[str, Any]


@dataclass(frozen=True)
class Pass:
    """`outcome` None: it was not finished, and `problem` says why, in the server's words. `again` in seconds.

    `retry`: it will pass by itself. `blocked`: what is there is not usable (another's object, a namespace going away).
    `forbidden`: our roles do not allow it, or not yet.
    """

    again: float
    outcome: Outcome | None = None
    problem: str = ""
    retry: bool = False
    blocked: bool = False
    forbidden: bool = False


def keep_objects(
    lease: Lease, gateway: ClusterGateway, cluster: Cluster, manifests: Sequence[JsonObject], row: Kept
) -> Pass:
    """Applies what is new, missing or changed. Raises LeaseLost only; every refusal of the cluster is in the answer."""
    mirrored = selectors.mirrored(cluster.pk, manifests)
    try:
        outcome = keep(
            gateway,
            manifests,
            applied=row.applied,
            mirrored=mirrored,
            instance=cluster.instance,
            before_write=lease.require,
        )
    except NameTaken as taken:
        return Pass(AGAIN_REFUSED, problem=f"{taken.key} is there and is not Turno's; it is left alone.", blocked=True)
    except NamespaceTerminating as error:
        return Pass(AGAIN_SOON, problem=error.message, retry=True, blocked=True)
    except ClusterError as error:
        return refusal(error)
    return Pass(RESYNC, outcome)


def remove_object(lease: Lease, gateway: ClusterGateway, instance: str, ref: ObjectRef) -> Pass | None:
    """Deletes one object of ours and looks again until it is gone; None once it is, or where it never was ours."""
    try:
        found = gateway.get(ref)
        if found is None or not names.is_ours(found["metadata"].get("labels"), instance):
            return None
        lease.require()
        gateway.delete(ref, uid=found["metadata"]["uid"])
    except ClusterError as error:
        return refusal(error)
    return Pass(AGAIN_SOON, problem="Waiting until the cluster has removed it.")


def refusal(error: ClusterError) -> Pass:
    """What a failed call means for the pass. Missing is the namespace, which another row is making again."""
    problem = f"{type(error).__name__}: {error.message}"[:1000]
    if error.retryable or isinstance(error, Missing):
        return Pass(error.retry_after or AGAIN_SOON, problem=problem, retry=True)
    return Pass(AGAIN_REFUSED, problem=problem, forbidden=isinstance(error, Forbidden))
