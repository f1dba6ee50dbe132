"""A cluster in full use in which many workloads wait, as rows: what Turno's records and its mirror then hold.

Ten teams of one cohort with four flavors each; everything that waits or runs is a job of ours, told in Kueue's words
and written through the mirror's own writer.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Any

from jobs import services
from jobs.models import Run, Workload
from portal.admission.quantities import parse
from portal.cluster import names
from portal.cluster.mirror import Mirror, entry
from portal.cluster.models import Cluster
from portal.kernel import clock, ids
from portal.kernel.actors import Person
from portal.kernel.models import Work
from quotas import manifests
from quotas.arithmetic import Share
from quotas.models import Allocation, Cohort, Flavor, Mode, PriorityClass, Queue
from tenants.models import Tenant, TenantSpace
from tenants.roles import Role
from tests.bench.populate import copy_of
from tests.factories import cluster as clusters
from tests.factories import quotas as rows
from tests.factories import tenants as people

TEAMS, CARDS = 10, 8  # of each flavor, for each team
FLAVORS = ("h200", "h100", "a100", "l40s")
SIZES = (1, 1, 1, 2, 2, 4)
LATELY_S = 3 * 3600.0  # since when those who wait have come
PAST = 300  # ended jobs of each team in the ledger
COHORT = "lab"
Object = dict[str, Any]


class Crowd:
    """The rows. `person` is a manager of the first team; `waiting` are the workloads that wait, oldest first."""

    def __init__(self, waiting: int) -> None:
        for model in (Work, Flavor, Cluster):  # those of the first migration
            model._default_manager.all().delete()
        self.dice = random.Random(7)
        self.now = clock.now().replace(microsecond=0)
        self.version = 0
        self.cluster = clusters.cluster("bench")
        self.mirror = Mirror(self.cluster, lambda: None)
        Cohort.objects.create(cluster=self.cluster, name=COHORT)
        self.flavors = [
            rows.flavor(self.cluster, name, Mode.WHOLE, "nvidia.com/gpu", max_per_node=8, node_labels={"card": name})
            for name in FLAVORS
        ]
        Flavor.objects.create(cluster=self.cluster, name="cpu", mode=Mode.NONE)
        for name, value in (("low", 10), ("normal", 100), ("high", 1000)):
            PriorityClass.objects.create(cluster=self.cluster, name=name, value=value, is_default=name == "normal")
        rows.image("pytorch", "training")
        self.teams = [people.tenant(f"team-{number}", cohort=COHORT) for number in range(TEAMS)]
        self.people = {team.pk: people.member(team, f"m-{team.slug}", Role.MANAGER) for team in self.teams}
        self.write(list(self._furniture()))
        templates = {team.pk: self._template(team) for team in self.teams}
        self._past(templates)
        self.waiting: list[Workload] = []
        self._fill(templates, waiting)
        kinds = ("Node", "Pod", "ResourceFlavor", "Cohort", "ClusterQueue", "LocalQueue", "Job", "Workload")
        clusters.synced(self.cluster, *kinds)

    def change(self) -> None:
        """Kueue says something else of one that waits."""
        one = self.objects[len(self.objects) // 2]
        one["status"]["conditions"][0]["message"] += "."
        self.write([one])

    @property
    def person(self) -> Person:
        return self.people[self.teams[0].pk]

    def write(self, objects: list[Object]) -> None:
        """What the watcher hears; each object gets the next resourceVersion."""
        for obj in objects:
            self.version += 1
            obj["metadata"] |= {
                "uid": obj["metadata"].get("uid") or str(ids.uuid7()),
                "resourceVersion": str(self.version),
            }
        for start in range(0, len(objects), 200):
            self.mirror.write([entry(one, self.cluster.instance) for one in objects[start : start + 200]], {})

    def _furniture(self) -> Iterator[Object]:
        place = manifests.Place(self.cluster.prefix, self.cluster.instance, "queue", ids.uuid7())
        yield manifests.cohort(place, COHORT, parent=None)
        for name in FLAVORS:
            own = manifests.flavor_name(self.cluster.prefix, name, "whole")
            yield manifests.resource_flavor(place, own, node_labels={"card": name}, tolerations=[])
        yield manifests.resource_flavor(place, f"{self.cluster.prefix}cpu", node_labels={}, tolerations=[])
        for team in self.teams:
            space = TenantSpace.objects.create(
                tenant=team, cluster=self.cluster, namespace=f"{self.cluster.prefix}{team.slug}", ready=True
            )
            Queue.objects.create(id=space.pk, tenant=team, cluster=self.cluster)
            cells = []
            for flavor in self.flavors:
                rows.quota(team, flavor, CARDS, borrowing=None)
                own = manifests.flavor_name(self.cluster.prefix, flavor.name, flavor.mode)
                cells.append(manifests.Cell(own, flavor.resource, Share(CARDS, None, None)))
            spec = manifests.QueueSpec(team.slug, space.namespace, COHORT, cells, "100000", "1000Ti")
            for obj in manifests.queue(place, spec):
                active = {"type": "Active", "status": "True", "reason": "Ready", "message": ""}
                yield {**obj, "status": {"conditions": [active]}}
        for number in range(TEAMS * len(FLAVORS)):
            yield self._node(number)

    def _node(self, number: int) -> Object:
        labels = {"card": FLAVORS[number % len(FLAVORS)]}
        offers = {"nvidia.com/gpu": "8", "cpu": "128", "memory": "1Ti"}
        conditions = [{"type": "Ready", "status": "True", "reason": "KubeletReady"}]
        status = {"allocatable": offers, "capacity": offers, "conditions": conditions}
        metadata = {"name": f"node-{number}", "uid": str(ids.uuid7()), "labels": labels}
        return {"kind": "Node", "metadata": metadata, "spec": {}, "status": status}

    def _template(self, team: Tenant) -> Workload:
        body = {"tenant": team.slug, "name": "template", "flavor": FLAVORS[0], "gpus": 1, "cpu": "4", "memory": "16Gi"}
        body |= {"image": "pytorch", "framework": "job", "command": ["python", "train.py"]}
        return services.submit(self.people[team.pk], kind="training", data=body)

    def _past(self, templates: dict[Any, Workload]) -> None:
        """Some days of ended work in the ledger."""
        found = []
        for team in self.teams:
            row = templates[team.pk]
            for number in range(PAST):
                ended = self.now - timedelta(seconds=self.dice.uniform(0, 7 * 86_400))
                flavor = self.dice.choice(FLAVORS)
                found.append(self._allocation(row, flavor, ended, self.dice.lognormvariate(8, 0.8), number))
        Allocation.objects.bulk_create(found)

    def _allocation(self, row: Workload, flavor: str, ended: datetime, lasted: float, number: int) -> Allocation:
        return Allocation(
            cluster_id=self.cluster.pk,
            kueue_uid=f"past-{row.tenant.slug}-{number}",
            flavor=flavor,
            resource="nvidia.com/gpu",
            units=1,
            admitted_at=ended - timedelta(seconds=lasted),
            released_at=ended,
            why="finished",
            tenant_id=row.tenant_id,
            tenant_slug=row.tenant.slug,
            workload_id=row.pk,
            workload_kind="training",
            variant=row.variant,
            image="pytorch",
            run=1,
        )

    def _fill(self, templates: dict[Any, Workload], waiting: int) -> None:
        """Runs what fits, and lets so many wait, with their rows and their Kueue Workloads."""
        free = {(team.pk, name): CARDS for team in self.teams for name in FLAVORS}
        copies, runs, objects = [], [], []
        first = {team: Run.objects.get(workload=row, number=1) for team, row in templates.items()}
        number = 0
        while len(self.waiting) < waiting:
            number += 1
            team, flavor = self.dice.choice(self.teams), self.dice.choice(self.flavors)
            gpus = self.dice.choice(SIZES)
            # First what runs, until nothing is free, with a priority that nobody who waits may take it from.
            full = not any(free.values())
            if not full:
                gpus = min(gpus, free[team.pk, flavor.name])
                if not gpus:
                    continue
            fits, priority = not full, self.dice.choice(("low", "normal", "normal")) if full else "high"
            held = self.now - timedelta(seconds=self.dice.uniform(0, 5000)) if fits else None
            free[team.pk, flavor.name] -= gpus if fits else 0
            template = templates[team.pk]
            state, reason = ("running", "ready") if fits else ("queued", "waiting_for_quota")
            row: Any = copy_of(template, id=ids.uuid7(), name=f"crowd-{number}", flavor_id=flavor.pk, priority=priority)
            row.spec = {**template.spec, "gpus": gpus, "flavor": flavor.name, "name": row.name}
            row.state, row.reason, row.quota_held = state, reason, fits
            copies.append(row)
            created = self.now - timedelta(seconds=LATELY_S * self.dice.random())
            runs.append(
                copy_of(first[team.pk], id=ids.uuid7(), workload_id=row.pk, flavor_name=flavor.name, created_at=created)
            )
            objects += self.pair(row, team, flavor, gpus, priority, created, held)
            if not fits:
                self.waiting.append(row)
        Workload.objects.bulk_create(copies, batch_size=50)
        Run.objects.bulk_create(runs, batch_size=50)  # type: ignore[arg-type]
        self.objects = [one for one in objects if one["kind"] == "Workload"]
        self.write(objects)

    def pair(
        self, row: Any, team: Tenant, flavor: Flavor, gpus: int, priority: str, created: datetime, held: datetime | None
    ) -> list[Object]:
        """Its Job and the Kueue Workload behind it; `held`: since when it holds quota."""
        name, job_uid = f"{row.name}-r1", str(ids.uuid7())
        labels = {
            **names.base_labels(self.cluster.instance),
            names.TENANT: team.slug,
            names.WORKLOAD: str(row.pk),
            names.RUN: "1",
        }
        place = {"name": name, "namespace": f"{self.cluster.prefix}{team.slug}", "labels": labels}
        job = {"kind": "Job", "metadata": {**place, "uid": job_uid}, "spec": {}, "status": {}}
        own = manifests.flavor_name(self.cluster.prefix, flavor.name, flavor.mode)
        asked = {"cpu": "4", "memory": "16Gi", "nvidia.com/gpu": str(gpus)}
        template = {
            "spec": {
                "nodeSelector": {"card": flavor.name},
                "containers": [{"name": "main", "resources": {"requests": asked, "limits": asked}}],
            }
        }
        status: Object = {"conditions": [_waits(own, flavor.resource, created)]}
        if held is not None:
            status = _holds(self.cluster, team, own, asked, held)
        workload = {
            "kind": "Workload",
            "metadata": {
                **place,
                "name": f"job-{name}",
                "uid": str(ids.uuid7()),
                "creationTimestamp": _stamp(created),
                "labels": {**labels, "kueue.x-k8s.io/job-uid": job_uid},
                "ownerReferences": [{"uid": job_uid, "kind": "Job", "name": name, "controller": True}],
            },
            "spec": {
                "queueName": team.slug,
                "priority": {"low": 10, "normal": 100, "high": 1000}[priority],
                "podSets": [{"name": "main", "count": 1, "template": template}],
            },
            "status": status,
        }
        return [job, workload]


def _waits(flavor: str, resource: str, since: datetime) -> Object:
    message = (
        f"couldn't assign flavors to pod set main: insufficient unused quota for {resource} in flavor {flavor}, "
        "1 more needed"
    )
    return {
        "type": "QuotaReserved",
        "status": "False",
        "reason": "Pending",
        "message": message,
        "lastTransitionTime": _stamp(since),
    }


def _holds(cluster: Cluster, team: Tenant, flavor: str, asked: dict[str, str], since: datetime) -> Object:
    flavors = {name: f"{cluster.prefix}cpu" if name in ("cpu", "memory") else flavor for name in asked}
    usage = {name: str(parse(name, amount)) if name == "nvidia.com/gpu" else amount for name, amount in asked.items()}
    part = {"name": "main", "count": 1, "flavors": flavors, "resourceUsage": usage}
    true = [
        {"type": kind, "status": "True", "reason": kind, "message": "", "lastTransitionTime": _stamp(since)}
        for kind in ("QuotaReserved", "Admitted")
    ]
    queue = manifests.cluster_queue_name(cluster.prefix, team.slug)
    return {"conditions": true, "admission": {"clusterQueue": queue, "podSetAssignments": [part]}}


def _stamp(at: datetime) -> str:
    return at.strftime("%Y-%m-%dT%H:%M:%SZ")
