"""Flavors, cohorts, priorities and queues on the simulated cluster, through the door that production uses."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from dataclasses import dataclass
from uuid import UUID

import pytest
from pytest_django.fixtures import Settings

from portal.cluster.factory import gateway as build
from portal.cluster.port import ClusterGateway, JsonObject, ObjectRef
from portal.kernel import clock, work
from portal.kernel.actors import Person
from portal.kernel.models import FeedEntry, Work
from portal.kernel.transaction import transaction
from quotas import services, tasks
from quotas.models import Cohort, Flavor, PriorityClass, Queue
from tenants import services as tenant_services
from tenants import tasks as tenant_tasks
from tenants.models import Tenant, TenantSpace
from tests.cluster.loopback import Loopback, simulated
from tests.factories.cluster import relist
from tests.factories.quotas import Lab, room_for

KINDS = ("Namespace", "ResourceFlavor", "Cohort", "WorkloadPriorityClass", "ClusterQueue", "LocalQueue")
PASSES = {
    "flavor": tasks.reconcile_flavor,
    "cohort": tasks.reconcile_cohort,
    "priority": tasks.reconcile_priority,
    "queue": tasks.reconcile_queue,
    "tenantspace": tenant_tasks.reconcile_space,
}


@dataclass
class Stage:
    """The lab on a fresh simulated cluster."""

    lab: Lab
    gateway: ClusterGateway
    engine: Loopback

    def run(self, kind: str, row_id: UUID) -> None:
        """Wakes a row, runs its pass as the worker would, and lets the mirror catch up."""
        with transaction():
            work.wake(kind, row_id)
        PASSES[kind](str(row_id))
        self.catch_up()

    def catch_up(self) -> None:
        relist(self.lab.cluster, self.gateway, *KINDS)

    def get(self, kind: str, name: str, namespace: str | None = None) -> JsonObject:
        found = self.gateway.get(ObjectRef(kind, name, namespace))
        assert found is not None, f"{kind} {name} is not there"
        return found


@pytest.fixture
def stage(lab: Lab, settings: Settings) -> Iterator[Stage]:
    with simulated(controllers=True) as engine:
        settings.CLUSTER_CONNECTIONS = {"default": engine.address}
        yield Stage(lab, build(lab.cluster), engine)


@pytest.fixture
def queue(stage: Stage, team: Tenant) -> Queue:
    """The team's queue, made on the cluster together with flavors, cohort and namespace."""
    row = room_for(team, stage.lab, borrowing=1)
    for flavor in Flavor.objects.all():
        stage.run("flavor", flavor.pk)
    stage.run("cohort", stage.lab.cohort.pk)
    stage.run("tenantspace", row.pk)
    stage.run("queue", row.pk)
    return row


def test_each_flavor_becomes_a_resource_flavor(stage: Stage) -> None:
    for flavor in Flavor.objects.all():
        stage.run("flavor", flavor.pk)
    assert stage.get("ResourceFlavor", "turno-h100")["spec"]["nodeLabels"] == stage.lab.whole.node_labels
    assert "nodeLabels" not in stage.get("ResourceFlavor", "turno-cpu").get("spec", {})
    stage.lab.whole.refresh_from_db()
    assert (stage.lab.whole.problem, stage.lab.whole.synced_at is not None) == ("", True)


def test_cohorts_and_priorities_follow_their_rows(stage: Stage, administrator: Person) -> None:
    campus = services.put_cohort(administrator, cluster=stage.lab.cluster, name="campus")
    services.put_cohort(administrator, cluster=stage.lab.cluster, name="lab", parent="campus")
    for row in Cohort.objects.all():
        stage.run("cohort", row.pk)
    assert stage.get("Cohort", "turno-lab")["spec"]["parentName"] == "turno-campus"
    high = PriorityClass.objects.get(name="high")
    stage.run("priority", high.pk)
    services.put_priority(administrator, cluster=stage.lab.cluster, name="high", value=2000)
    stage.run("priority", high.pk)
    assert stage.get("WorkloadPriorityClass", "turno-high")["value"] == 2000
    assert campus.name == "campus"


def test_a_teams_queues_are_there_and_active(stage: Stage, queue: Queue) -> None:
    stage.run("queue", queue.pk)
    cluster_queue = stage.get("ClusterQueue", "turno-data")
    assert cluster_queue["spec"]["cohortName"] == "turno-lab"
    local_queue = stage.get("LocalQueue", "data", "turno-data")
    assert local_queue["spec"]["clusterQueue"] == "turno-data"
    queue.refresh_from_db()
    assert (queue.active, queue.problem) == (True, "")


def test_a_second_pass_writes_nothing(stage: Stage, queue: Queue) -> None:
    before = [stage.get("ClusterQueue", "turno-data"), stage.get("LocalQueue", "data", "turno-data")]
    stage.run("queue", queue.pk)
    after = [stage.get("ClusterQueue", "turno-data"), stage.get("LocalQueue", "data", "turno-data")]
    assert [obj["metadata"]["generation"] for obj in after] == [obj["metadata"]["generation"] for obj in before]
    assert not FeedEntry.objects.filter(reason="drift").exists()


def test_a_changed_quota_reaches_the_cluster_queue(stage: Stage, queue: Queue, administrator: Person) -> None:
    services.put_quota(administrator, tenant="data", flavor="h100", nominal=2, borrowing_limit=0)
    stage.run("queue", queue.pk)
    flavors = stage.get("ClusterQueue", "turno-data")["spec"]["resourceGroups"][0]["flavors"]
    cell = next(flavor for flavor in flavors if flavor["name"] == "turno-h100")["resources"]
    assert {"name": "nvidia.com/gpu", "nominalQuota": "2", "borrowingLimit": "0"} in cell


def test_a_suspended_team_is_held_and_let_go(stage: Stage, queue: Queue, administrator: Person) -> None:
    for state, policy in (("suspended", "Hold"), ("active", "None"), ("archived", "Hold")):
        tenant_services.change_tenant(administrator, slug="data", state=state)
        stage.run("queue", queue.pk)
        assert stage.get("LocalQueue", "data", "turno-data")["spec"]["stopPolicy"] == policy


def test_a_team_moves_to_another_cohort(stage: Stage, queue: Queue, administrator: Person) -> None:
    tenant_services.change_tenant(administrator, slug="data", cohort="")
    stage.run("queue", queue.pk)
    assert "cohortName" not in stage.get("ClusterQueue", "turno-data")["spec"]


def test_an_edit_by_somebody_else_is_put_right_and_told(stage: Stage, queue: Queue) -> None:
    found = stage.get("ClusterQueue", "turno-data")
    meta = found["metadata"]
    stage.gateway.patch(
        ObjectRef("ClusterQueue", "turno-data"),
        {"spec": {"cohortName": "theirs"}},
        uid=meta["uid"],
        resource_version=meta["resourceVersion"],
    )
    stage.catch_up()
    stage.run("queue", queue.pk)
    assert stage.get("ClusterQueue", "turno-data")["spec"]["cohortName"] == "turno-lab"
    entry = FeedEntry.objects.get(reason="drift")
    assert (entry.scope, entry.params["object"]) == ("platform", "ClusterQueue/turno-data")


def test_a_queue_waits_for_its_namespace(stage: Stage, team: Tenant) -> None:
    row = room_for(team, stage.lab)
    TenantSpace.objects.update(ready=False)
    stage.run("queue", row.pk)
    stage.get("ClusterQueue", "turno-data")
    assert stage.gateway.get(ObjectRef("LocalQueue", "data", "turno-data")) is None
    stage.run("tenantspace", row.pk)
    assert Work.objects.get(kind="queue").wanted_seq > 1
    stage.run("queue", row.pk)
    stage.get("LocalQueue", "data", "turno-data")


def test_the_first_pass_of_a_new_team_makes_its_queues_row(stage: Stage, administrator: Person) -> None:
    team = tenant_services.create_tenant(administrator, slug="vision", name="Vision")
    space = TenantSpace.objects.get(tenant=team)
    stage.run("queue", space.pk)
    assert Queue.objects.get(tenant=team).pk == space.pk
    stage.get("ClusterQueue", "turno-vision")


def test_an_inactive_queue_says_why(stage: Stage, team: Tenant) -> None:
    row = room_for(team, stage.lab)
    TenantSpace.objects.update(ready=False)
    stage.run("queue", row.pk)
    wait_for_condition(stage)
    stage.run("queue", row.pk)
    row.refresh_from_db()
    assert not row.active
    assert "turno-cpu" in row.problem


def wait_for_condition(stage: Stage) -> None:
    """Until the simulated Kueue has judged the ClusterQueue."""
    pause = threading.Event()
    deadline = clock.monotonic() + 10
    while not stage.get("ClusterQueue", "turno-data").get("status", {}).get("conditions"):
        assert clock.monotonic() < deadline, "Kueue says nothing of the ClusterQueue"
        pause.wait(0.05)
    stage.catch_up()


def test_a_deleted_flavor_goes_from_the_cluster_and_then_from_the_table(stage: Stage, administrator: Person) -> None:
    row = stage.lab.half
    stage.run("flavor", row.pk)
    services.delete_flavor(administrator, name="h100-3g")
    for _ in range(3):
        stage.run("flavor", row.pk)
    assert stage.gateway.get(ObjectRef("ResourceFlavor", "turno-h100-3g")) is None
    assert not Flavor.objects.filter(pk=row.pk).exists()
    assert not Work.objects.filter(kind="flavor", object_id=row.pk).exists()


def test_a_flavor_in_use_waits_until_the_queues_let_it_go(stage: Stage, queue: Queue, administrator: Person) -> None:
    services.delete_quota(administrator, tenant="data", flavor="h100-3g")
    services.delete_flavor(administrator, name="h100-3g")
    stage.run("flavor", stage.lab.half.pk)
    assert Flavor.objects.filter(pk=stage.lab.half.pk, deleting=True).exists()
    stage.run("queue", queue.pk)
    for _ in range(3):
        stage.run("flavor", stage.lab.half.pk)
    assert not Flavor.objects.filter(pk=stage.lab.half.pk).exists()


def test_an_object_of_somebody_else_is_left_alone(stage: Stage) -> None:
    stage.gateway.create(
        {"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "Cohort", "metadata": {"name": "turno-lab"}, "spec": {}}
    )
    stage.run("cohort", stage.lab.cohort.pk)
    stage.lab.cohort.refresh_from_db()
    assert "Cohort/turno-lab" in stage.lab.cohort.problem
    assert "labels" not in stage.get("Cohort", "turno-lab")["metadata"]


@pytest.mark.parametrize("kind", ["flavor", "cohort", "priority", "queue"])
def test_a_row_that_is_gone_is_forgotten(stage: Stage, kind: str) -> None:
    gone = UUID("01890000-0000-7000-8000-000000000009")
    stage.run(kind, gone)
    assert not Work.objects.filter(kind=kind).exists()
