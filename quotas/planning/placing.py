"""Room on nodes: quota counts the cards of all nodes together, a pod needs its cards on one.

Only our own pods are known: where other people's pods take cards, less is free than is said here.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from functools import cached_property
from uuid import UUID

from portal.cluster import selectors as mirror
from quotas import observe
from quotas.planning.preview import Asked
from quotas.planning.standing import Standing


@dataclass(frozen=True)
class Misfit:
    """Quota would do, and no node does. `needed`: units per node; `most_free`: on one node now; `pods`: for how many
    there is no node."""

    needed: int
    most_free: int
    pods: int


@dataclass(frozen=True)
class Room:
    """All nodes that take pods, and the pods of ours on them. `nodes` None: not known, and then everything fits."""

    nodes: tuple[mirror.NodeCapacity, ...] | None
    pods: tuple[mirror.Placed, ...] = ()

    @cached_property
    def _taken(self) -> Mapping[str, Counter[str]]:
        """Units by node and resource."""
        taken: defaultdict[str, Counter[str]] = defaultdict(Counter)
        for pod in self.pods:
            taken[pod.node].update({name: observe.units(amount) for name, amount in pod.requests.items()})
        return taken

    def _free(self, node: mirror.NodeCapacity, resource: str) -> int:
        held = self._taken[node.name][resource] if node.name in self._taken else 0
        return max(0, observe.units(node.allocatable.get(resource, "0")) - held)

    def without(self, workloads: Collection[UUID | None]) -> Room:
        """As it would be once the pods of these workloads have gone."""
        return Room(self.nodes, tuple(pod for pod in self.pods if pod.workload_id not in workloads))

    def misfit(self, standing: Standing, asked: Asked, pods: int | None = None) -> Misfit | None:
        """Why `pods` (all that are asked for, where not given) would find no place; None where they all do."""
        needed = asked.requests.get(asked.resource, 0)
        if self.nodes is None or asked.resource == "cpu" or not needed:
            return None
        labels = standing.labels.get(asked.flavor, {})
        free = [self._free(node, asked.resource) for node in self.nodes if labels.items() <= node.labels.items()]
        homeless = (asked.pods if pods is None else pods) - sum(units // needed for units in free)
        return Misfit(needed, max(free, default=0), homeless) if homeless > 0 else None


def room(cluster_id: UUID) -> Room:
    """What is free on the nodes of a cluster now. Three queries."""
    capacity = mirror.capacity(cluster_id)
    if capacity.as_of is None:
        return Room(None)
    usable = tuple(node for node in capacity.nodes if node.ready and node.schedulable)
    return Room(usable, tuple(mirror.placed(cluster_id)))
