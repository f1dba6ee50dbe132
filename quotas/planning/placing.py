"""Room on nodes: quota counts the cards of all nodes together, a pod needs its cards on one.

Only our own pods are known: where other people's pods take cards, less is free than is said here.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from uuid import UUID

from portal.cluster import selectors as mirror
from quotas import observe
from quotas.planning.preview import Asked
from quotas.planning.standing import Standing


@dataclass(frozen=True)
class NodeRoom:
    """One node that takes pods: units of each resource that no pod of ours has."""

    labels: Mapping[str, str]
    allocatable: Mapping[str, str]
    taken: Mapping[str, int]

    def free(self, resource: str) -> int:
        return max(0, observe.units(self.allocatable.get(resource, "0")) - self.taken.get(resource, 0))


@dataclass(frozen=True)
class Misfit:
    """Quota would do, and no node does. `needed`: units per node; `most_free`: on one node now; `pods`: for how many
    there is no node."""

    needed: int
    most_free: int
    pods: int


@dataclass(frozen=True)
class Room:
    """All nodes that take pods; None: they are not known, and then everything fits."""

    nodes: tuple[NodeRoom, ...] | None

    def misfit(self, standing: Standing, asked: Asked, pods: int | None = None) -> Misfit | None:
        """Why `pods` (all that are asked for, where not given) would find no place; None where they all do."""
        needed = asked.requests.get(asked.resource, 0)
        if self.nodes is None or asked.resource == "cpu" or not needed:
            return None
        labels = standing.labels.get(asked.flavor, {})
        free = [node.free(asked.resource) for node in self.nodes if labels.items() <= node.labels.items()]
        homeless = (asked.pods if pods is None else pods) - sum(units // needed for units in free)
        return Misfit(needed, max(free, default=0), homeless) if homeless > 0 else None


def room(cluster_id: UUID) -> Room:
    """What is free on the nodes of a cluster now. Three queries."""
    capacity = mirror.capacity(cluster_id)
    if capacity.as_of is None:
        return Room(None)
    taken: dict[str, Counter[str]] = {}
    for pod in mirror.placed(cluster_id):
        units = {name: observe.units(amount) for name, amount in pod.requests.items()}
        taken.setdefault(pod.node, Counter()).update(units)
    usable = (node for node in capacity.nodes if node.ready and node.schedulable)
    return Room(tuple(NodeRoom(node.labels, node.allocatable, taken.get(node.name, {})) for node in usable))
