"""The one oracle of all fault tests: rows and cluster say the same, nothing is doubled, lost or stuck.

Everything is compared: what other tests left behind as well. A disagreement is a line of text; while the portal is at
work there may be some, so they are given time to go away.
"""

from __future__ import annotations

import time
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING
from uuid import UUID

from django.db.models import Max, Q
from django.db.models.functions import Now

from jobs.models import Run, RunObject, UnknownObject, Workload
from jobs.states import EXPLANATIONS, FINAL_STATES, Reason, State
from portal.cluster import content, names
from portal.cluster.models import MirrorObject
from portal.cluster.port import JsonObject
from portal.kernel import clock
from portal.kernel.models import FeedEntry, FeedScope, Work
from quotas.models import Allocation
from tests.faults.stage import Stage

if TYPE_CHECKING:
    from portal.cluster.kube import KubeGateway

RUN_OWNED = ("Job", "StatefulSet", "Deployment")
WORKLOAD_OWNED = ("Service", "PersistentVolumeClaim", "Secret", "HTTPRoute")
LISTED = (*RUN_OWNED, *WORKLOAD_OWNED, "Pod", "Workload")
UNCOMPARED = ("Event",)  # they are many, and expire
CLAIM = "PersistentVolumeClaim"
PENDING = ("submitted", "queued", "starting", "running", "idle")


@dataclass(frozen=True)
class Found:
    """What is on the cluster now."""

    by_kind: dict[str, list[JsonObject]]
    by_workload: dict[tuple[str, str], list[JsonObject]]

    @classmethod
    def on(cls, gateway: KubeGateway) -> Found:
        by_kind = {kind: everything(gateway, kind) for kind in LISTED}
        by_workload: dict[tuple[str, str], list[JsonObject]] = defaultdict(list)
        for kind, found in by_kind.items():
            for one in found:
                by_workload[label(one, names.WORKLOAD), kind].append(one)
        return cls(by_kind, by_workload)

    def ours(self, *kinds: str) -> Iterator[tuple[str, JsonObject]]:
        for kind in kinds:
            yield from ((kind, one) for one in self.by_kind[kind] if label(one, names.WORKLOAD))

    def uids(self, *kinds: str) -> set[str]:
        return {uid(one) for _, one in self.ours(*kinds)}

    def of(self, workload: UUID, kind: str) -> list[JsonObject]:
        return self.by_workload.get((str(workload), kind), [])


def agreement(stage: Stage, within: float = 90.0) -> None:
    """AssertionError lists what is not as it must be when the time is over."""
    limit = time.monotonic() + within
    while problems := disagreements(stage):
        assert time.monotonic() < limit, "no agreement:\n" + "\n".join(problems)
        time.sleep(0.3)


def disagreements(stage: Stage) -> list[str]:
    """Every way in which rows and cluster differ now. What is on its way is awaited before the cluster is asked."""
    rows = list(Workload.objects.order_by("pk"))
    if early := [*on_their_way(rows), *runs(rows), *work(rows), *history()]:
        return early
    found = Found.on(stage.gateway)
    return [
        *stored_objects(rows, found),
        *unexplained(rows, found),
        *states(rows, found),
        *allocations(rows, found),
        *mirror(stage.gateway),
    ]


def on_their_way(rows: Iterable[Workload]) -> Iterator[str]:
    """States that nothing may stay in."""
    for row in rows:
        if row.state in ("submitted", "stopping", "deleting"):
            yield f"{row.name} is still {row.state}: {row.reason}"


def everything(gateway: KubeGateway, kind: str) -> list[JsonObject]:
    page = gateway.list(kind)
    items = page.items
    while page.next:
        page = gateway.list(kind, continue_token=page.next)
        items += page.items
    return items


def label(one: JsonObject, name: str) -> str:
    return str((one["metadata"].get("labels") or {}).get(name, ""))


def uid(one: JsonObject) -> str:
    return str(one["metadata"]["uid"])


def runs(rows: Iterable[Workload]) -> Iterator[str]:
    """At most one open run; a workload that rests has none, another has one."""
    of: dict[UUID, list[tuple[int, object]]] = defaultdict(list)
    for key, number, ended in Run.objects.order_by("number").values_list("workload_id", "number", "ended_at"):
        of[key].append((number, ended))
    for row in rows:
        numbers = of[row.pk]
        opened = [number for number, ended in numbers if ended is None]
        wanted = [] if State(row.state) in FINAL_STATES else [row.run_number]
        if opened != wanted:
            yield f"{row.name} is {row.state} and has open runs {opened}"
        if [number for number, _ in numbers] != list(range(1, row.run_number + 1)):
            yield f"{row.name} has runs {numbers}, at {row.run_number}"


def stored_objects(rows: list[Workload], found: Found) -> Iterator[str]:
    """What a row says is there is there, under the uid that it says; what it says is gone is gone."""
    there = found.uids(*RUN_OWNED)
    by_id = {row.pk: row for row in rows}
    for one in RunObject.objects.filter(owned_by_workload=False).select_related("run"):
        row = by_id[one.workload_id]
        open_run = one.run.number == row.run_number and row.state in PENDING
        if open_run and one.gone_at is None and one.uid not in there and row.reason != Reason.ACCEPTED:
            yield f"{row.name} is {row.state}: {one.kind} {one.name} is not there ({one.uid or 'no uid'})"
        if not open_run and one.gone_at is None and one.uid not in there and row.state != State.DELETING:
            yield f"{one.kind} {one.name} of {row.name} ({row.state}) is gone and nobody wrote it down"
        if one.gone_at is not None and one.uid in there:
            yield f"{one.kind} {one.name} of {row.name} is there and written down as gone"


def unexplained(rows: list[Workload], found: Found) -> Iterator[str]:
    """Every object of ours is explained by exactly one row."""
    live = {str(row.pk): row for row in rows}
    known = Counter(RunObject.objects.filter(gone_at=None).exclude(uid="").values_list("uid", flat=True))
    listed = set(UnknownObject.objects.values_list("uid", flat=True))
    for kind, one in found.ours(*RUN_OWNED):
        if known[uid(one)] != 1 and uid(one) not in listed:
            yield f"{kind} {one['metadata']['name']} is known {known[uid(one)]} times"
    for kind, one in found.ours(*WORKLOAD_OWNED):
        row = live.get(label(one, names.WORKLOAD))
        if row is None and uid(one) not in listed:
            yield f"{kind} {one['metadata']['name']} belongs to no row"
        elif row is not None and row.state == State.DELETED and not (kind == CLAIM and row.data_kept_until):
            yield f"{kind} {one['metadata']['name']} outlived {row.name}"
    for _kind, one in found.ours("Pod"):
        row = live.get(label(one, names.WORKLOAD))
        over = one.get("status", {}).get("phase") in ("Succeeded", "Failed")
        if row is not None and not over and label(one, names.RUN) != str(row.run_number):
            yield f"pod {one['metadata']['name']} is not of run {row.run_number}"
        if row is not None and not over and State(row.state) in FINAL_STATES:
            yield f"pod {one['metadata']['name']} lives and {row.name} is {row.state}"


def states(rows: Iterable[Workload], found: Found) -> Iterator[str]:
    """The state is what the cluster shows, or it says why not."""
    for row in rows:
        reason = Reason(row.reason)
        if EXPLANATIONS[reason].state != row.state:
            yield f"{row.name} is {row.state} for the reason {reason.value}"
        pods = [one for one in found.of(row.pk, "Pod") if label(one, names.RUN) == str(row.run_number)]
        ready = sum(1 for one in pods if is_true(one, "Ready"))
        if row.state == State.RUNNING and not ready:
            yield f"{row.name} is running and none of {len(pods)} pods is ready"
        if row.state in ("queued", "starting") and pods and ready == len(pods):
            yield f"{row.name} is {row.state} and all pods are ready"
        for job in found.of(row.pk, "Job"):
            if label(job, names.RUN) != str(row.run_number) or row.state in ("stopped", "deleted"):
                continue
            ended = {"Complete": "succeeded", "Failed": "failed"}
            said = next((state for kind, state in ended.items() if is_true(job, kind)), "")
            if (said or row.state in ("succeeded", "failed")) and row.state != said:
                yield f"{row.name} is {row.state} and its Job is {said or 'not over'}"


def is_true(one: JsonObject, kind: str) -> bool:
    conditions = one.get("status", {}).get("conditions") or []
    return any(each["type"] == kind and each["status"] == "True" for each in conditions)


def allocations(rows: Iterable[Workload], found: Found) -> Iterator[str]:
    """Open intervals are exactly the quota that Kueue's Workloads of ours hold."""
    owners = {uid(one): label(one, names.WORKLOAD) for _, one in found.ours(*RUN_OWNED, "Pod")}
    holding: dict[str, str] = {}
    for one in found.by_kind["Workload"]:
        job = label(one, content.JOB_UID)
        refs = [ref["uid"] for ref in one["metadata"].get("ownerReferences") or []]
        owner = next((owners[each] for each in (job, *refs) if each in owners), "")
        if owner and is_true(one, "QuotaReserved") and not is_true(one, "Finished"):
            holding[uid(one)] = owner
    still = list(Allocation.objects.filter(released_at=None).values_list("kueue_uid", "workload_id"))
    if doubled := [key for key, count in Counter(key for key, _ in still).items() if count > 1]:
        yield f"allocations are open more than once: {doubled}"
    opened = {key: str(owner) for key, owner in still}
    if opened != holding:
        yield f"allocations open {opened}, quota held {holding}"
    held = set(holding.values())
    for row in rows:
        if row.quota_held != (str(row.pk) in held):
            yield f"{row.name} ({row.state}) says quota_held={row.quota_held}"


def work(rows: list[Workload]) -> Iterator[str]:
    """Nothing is parked, held by nobody, or due and not looked at; what is not over has a time for the next look."""
    for one in Work.objects.filter(~Q(parked_reason="") | Q(attempts__gt=0)):
        yield f"{one.kind} {one.object_id} does not get on: {one.parked_reason or one.attempts}"
    stale = Work.objects.exclude(lease_token=None).filter(lease_until__lte=Now())
    yield from (f"{one.kind} {one.object_id} is held by nobody" for one in stale)
    due = {one.object_id: one for one in Work.objects.filter(kind="workload")}
    for row in rows:
        one = due.get(row.pk)
        if one is None or State(row.state) in FINAL_STATES:
            continue
        if one.due_at is None and one.lease_token is None and one.wanted_seq == one.done_seq:
            yield f"{row.name} is {row.state} and nobody will look again"


def history() -> Iterator[str]:
    """Numbers without a gap per scope, and every cluster event once."""
    for scope in FeedScope.objects.all():
        told = FeedEntry.objects.filter(scope=scope.scope).aggregate(last=Max("seq"))
        if told["last"] is not None and told["last"] > scope.last_seq:
            yield f"{scope.scope} is told up to {told['last']}, counted to {scope.last_seq}"


def mirror(gateway: KubeGateway) -> Iterator[str]:
    """Row by row what a fresh list says."""
    rows: dict[str, dict[tuple[str, str], tuple[str, str]]] = defaultdict(dict)
    for one in MirrorObject.objects.exclude(kind__in=UNCOMPARED):
        rows[one.kind][one.namespace, one.name] = (one.uid, one.content_hash if one.ours else "")
    for kind in sorted(content.MIRRORED.difference(UNCOMPARED)):
        listed = {}
        for one in everything_of(gateway, kind):
            ours = names.is_ours(one["metadata"].get("labels"), "turno")
            place = one["metadata"].get("namespace") or "", one["metadata"]["name"]
            listed[place] = (uid(one), content.content_hash(one) if ours else "")
        if listed != rows[kind]:
            differ = {
                place for place in listed.keys() | rows[kind].keys() if listed.get(place) != rows[kind].get(place)
            }
            yield f"the mirror of {kind} differs at {sorted(differ)} at {clock.now():%T}"


def everything_of(gateway: KubeGateway, kind: str) -> list[JsonObject]:
    selector = content.selector(kind, "turno")
    return gateway.list(kind, selector=selector).items if selector else everything(gateway, kind)
