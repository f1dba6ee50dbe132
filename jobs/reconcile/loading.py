"""What one pass stands on: the rows, and what the mirror says of them. A fixed number of queries."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from uuid import UUID

from jobs.models import Run, RunObject, Workload
from jobs.observe import Observation, Seen, observe
from jobs.specs import Spec, from_json
from jobs.states import State
from portal.cluster import selectors as cluster
from portal.cluster.applied import Outcome
from portal.cluster.models import MirrorObject, MirrorStream
from quotas import selectors as quotas

RUN_OWNED = frozenset({"Job", "StatefulSet", "Deployment"})


@dataclass
class Written:
    """What a pass found or made on the cluster: to be recorded in one transaction.

    `uids`: of run-owned objects, with the hash of their content; `drift`: whoever changed one, by its row.
    """

    uids: dict[RunObject, tuple[str, str]] = field(default_factory=dict)
    contents: dict[RunObject, str] = field(default_factory=dict)
    drift: dict[RunObject, str] = field(default_factory=dict)
    recreated: list[RunObject] = field(default_factory=list)
    outcomes: list[Outcome] = field(default_factory=list)
    gone: RunObject | None = None

    @property
    def lost_data(self) -> str:
        """The name of a claim that is gone with what was in it; "" otherwise."""
        lost = (key.partition("/")[2] for outcome in self.outcomes for key in outcome.lost)
        return next(lost, "")


@dataclass
class Situation:
    """One workload, its newest run, the stored objects of all its runs, and the mirror.

    `written`, `gone`: what the pass has done so far, kept even where it ends early. `asked`: uids that it had deleted.
    """

    workload: Workload
    run: Run
    objects: list[RunObject]
    mirror: list[MirrorObject]
    synced: Mapping[str, datetime | None]
    seen: Observation = field(default_factory=Observation)
    written: Written = field(default_factory=Written)
    gone: list[RunObject] = field(default_factory=list)
    asked: set[str] = field(default_factory=set)

    @property
    def kueue(self) -> list[MirrorObject]:
        """The Kueue Workloads that stand for its objects, of all runs that are still mirrored."""
        return [one for one in self.mirror if one.kind == "Workload"]

    @property
    def state(self) -> State:
        return State(self.workload.state)

    @property
    def spec(self) -> Spec:
        """What the newest run is made of (live changes are in the workload's own request)."""
        return from_json(self.workload.kind, self.run.spec)

    @property
    def open(self) -> bool:
        return self.run.ended_at is None

    def of_run(self, number: int) -> list[RunObject]:
        return [one for one in self.objects if one.run.number == number]

    @property
    def mine(self) -> list[RunObject]:
        """The newest run's own objects, in order."""
        return [one for one in self.of_run(self.run.number) if not one.owned_by_workload]

    @property
    def owned(self) -> list[RunObject]:
        """The workload-owned objects as the newest run has them."""
        return [one for one in self.of_run(self.run.number) if one.owned_by_workload]

    @property
    def remains(self) -> list[RunObject]:
        """Run-owned objects of earlier runs that are not known to be gone."""
        return [
            one
            for one in self.objects
            if one.run.number != self.run.number and not one.owned_by_workload and one.gone_at is None
        ]

    def mirrored(self, kind: str, uid: str) -> bool:
        return any(one.kind == kind and one.uid == uid for one in self.mirror)


def load(workload_id: UUID) -> Situation | None:
    """None where there is no such workload (any more)."""
    row = Workload.objects.select_related("tenant", "cluster", "flavor__cluster").filter(pk=workload_id).first()
    if row is None:
        return None
    run = Run.objects.get(workload=row, number=row.run_number)
    objects = list(RunObject.objects.filter(workload=row).select_related("run").order_by("run__number", "ordinal"))
    mirror = [one for one in cluster.objects_of_workload(row.pk) if one.cluster_id == row.cluster_id]
    streams = MirrorStream.objects.filter(cluster_id=row.cluster_id)
    found = Situation(row, run, objects, mirror, dict(streams.values_list("kind", "synced_at")))
    found.seen = _observation(found)
    return found


def _observation(at: Situation) -> Observation:
    """The newest run as the mirror has it: Kueue Workloads that stand for its object, or for its pods."""
    owners = {one.uid for one in at.mirror if one.run == at.run.number}
    kueue = [one for one in at.kueue if one.job_uid in owners or one.owner_uid in owners]
    names = {node_of(one) for one in at.mirror if one.kind == "Pod"} | set(at.run.placed.values()) - {""}
    nodes: list[MirrorObject] | None = None
    if at.synced.get("Node") is not None:
        rows = MirrorObject.objects.filter(cluster=at.workload.cluster_id, kind="Node", name__in=names)
        nodes = list(rows) if names else []
    return observe(
        seen_all(at.mirror),
        seen_all(kueue),
        None if nodes is None else seen_all(nodes),
        run=at.run.number,
        flavor=quotas.kueue_name(at.workload.flavor),
    )


def node_of(pod: MirrorObject) -> str:
    """The node that a mirrored pod was placed on; "" before that."""
    return str((pod.data.get("spec") or {}).get("nodeName") or "")


def seen_all(rows: Iterable[MirrorObject]) -> list[Seen]:
    """Mirror rows as the plain values that `jobs.observe` reads."""
    return [Seen(one.kind, one.name, one.uid, one.run, one.owner_uid, one.job_uid, one.data) for one in rows]
