"""How controllers create pods: through the API server's checks and Kueue's webhook, like everybody else."""

from __future__ import annotations

from portal.cluster.simulated.controllers.templates import LONGEST_LABEL, long_label
from portal.cluster.simulated.controllers.world import World
from portal.cluster.simulated.errors import ApiError
from portal.cluster.simulated.objects import Obj
from portal.cluster.simulated.pod_defaults import gated_status
from portal.cluster.simulated.webhooks import GATES, PARENT_ANNOTATION, QUEUE_LABEL, ROLE_HASH_ANNOTATION, role_hash
from portal.cluster.simulated.webhooks import Webhooks as KueueWebhooks

RETRY_SECONDS = 5.0


def create_pod(world: World, owner: Obj, pod: Obj, component: str) -> Obj | None:
    """Store a new pod and say so on its owner. None when it is refused: the event says why, try again later."""
    problem = _problem(world, pod)
    if problem is not None:
        told = f"Error creating: {problem}"
        world.event(owner, "FailedCreate", told, kind="Warning", component=component)
        return None
    _gate(pod)
    pod["status"] = gated_status(pod["spec"], world.stamp())
    created = world.store.create(pod)
    world.event(owner, "SuccessfulCreate", _told(owner, created), component=component)
    return created


def _problem(world: World, pod: Obj) -> str | None:
    too_long = long_label(pod)
    if too_long is not None:
        name = pod["metadata"]["name"]
        return f'Pod "{name}" is invalid: metadata.labels: {too_long}: must be no more than {LONGEST_LABEL} bytes'
    namespace = world.store.get("Namespace", None, pod["metadata"]["namespace"])
    if namespace is None or "deletionTimestamp" in namespace["metadata"]:
        return f'namespace "{pod["metadata"]["namespace"]}" is being terminated'
    probe: Obj = {"kind": "Pod", "metadata": {"namespace": pod["metadata"]["namespace"]}, "spec": {}}
    try:
        KueueWebhooks(lambda: world.settings.kueue_runs).mutate(probe, None)
    except ApiError as refusal:
        return refusal.message
    return None


def _gate(pod: Obj) -> None:
    """What Kueue's webhook does to a pod of a managed owner: it waits for admission. Pods of a suspending parent get
    no finalizer, since the parent replaces them."""
    meta = pod["metadata"]
    if QUEUE_LABEL not in meta["labels"] or PARENT_ANNOTATION not in meta["annotations"]:
        return
    meta["annotations"].setdefault(ROLE_HASH_ANNOTATION, role_hash(pod["spec"]))
    pod["spec"]["schedulingGates"] = [*(pod["spec"].get("schedulingGates") or []), *({"name": gate} for gate in GATES)]


def _told(owner: Obj, pod: Obj) -> str:
    name = pod["metadata"]["name"]
    if owner["kind"] == "StatefulSet":
        return f"create Pod {name} in StatefulSet {owner['metadata']['name']} successful"
    return f"Created pod: {name}"
