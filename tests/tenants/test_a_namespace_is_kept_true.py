"""The namespace of a team on the simulated cluster, through the door that production uses."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import timedelta
from uuid import uuid4

import pytest
from pytest_django.fixtures import Settings

from portal.cluster.factory import gateway as build
from portal.cluster.kube import KubeGateway
from portal.cluster.port import ClusterGateway, Forbidden, JsonObject, ObjectRef
from portal.kernel import clock, work
from portal.kernel.actors import Person
from portal.kernel.models import FeedEntry, Work
from portal.kernel.transaction import transaction
from tenants import reconcile, services, tasks
from tenants.models import Tenant, TenantSpace
from tests.cluster.loopback import Loopback, simulated
from tests.factories.cluster import relist
from tests.factories.quotas import Lab

KINDS = ("Namespace", "ServiceAccount", "RoleBinding", "NetworkPolicy", "ResourceQuota", "LimitRange")
NAMESPACE = ObjectRef("Namespace", "turno-data")
EXPECTED = {
    "LimitRange/defaults",
    "NetworkPolicy/allow-dns",
    "NetworkPolicy/allow-egress",
    "NetworkPolicy/allow-platform",
    "NetworkPolicy/default-deny",
    "ResourceQuota/objects",
    "RoleBinding/turno-tenant-logs",
    "RoleBinding/turno-tenant-worker",
    "ServiceAccount/workload",
}


@pytest.fixture(scope="module")
def engine() -> Iterator[Loopback]:
    with simulated() as running:
        yield running


@dataclass
class Stage:
    """One team's space on a fresh cluster."""

    space: TenantSpace
    gateway: ClusterGateway
    engine: Loopback

    def run(self) -> TenantSpace:
        """Wakes the row, runs its pass as the worker would, and lets the mirror catch up."""
        with transaction():
            work.wake("tenantspace", self.space.pk)
        tasks.reconcile_space(str(self.space.pk))
        self.catch_up()
        self.space.refresh_from_db()
        return self.space

    def catch_up(self) -> None:
        relist(self.space.cluster, self.gateway, *KINDS)

    def inside(self) -> dict[str, JsonObject]:
        """What of ours is in the namespace."""
        found = {}
        for kind in KINDS[1:]:
            for obj in self.gateway.list(kind, namespace="turno-data").items:
                if "turno.dev/instance" in obj["metadata"].get("labels", {}):
                    found[f"{kind}/{obj['metadata']['name']}"] = obj
        return found

    def told(self) -> list[tuple[str, str]]:
        rows = FeedEntry.objects.filter(topic="tenantspace").order_by("seq")
        return [(row.type, row.params["object"]) for row in rows]


@pytest.fixture
def stage(lab: Lab, team: Tenant, engine: Loopback, settings: Settings) -> Iterator[Stage]:
    settings.CLUSTER_CONNECTIONS = {"default": engine.address}
    space = TenantSpace.objects.create(tenant=team, cluster=lab.cluster, namespace="turno-data")
    gateway = build(lab.cluster)
    yield Stage(space, gateway, engine)
    found = gateway.get(NAMESPACE)
    if found is not None:
        gateway.delete(NAMESPACE, uid=found["metadata"]["uid"])


def test_everything_is_made_and_work_may_come(stage: Stage) -> None:
    space = stage.run()
    assert set(stage.inside()) == EXPECTED
    assert (space.ready, space.problem) == (True, "")
    assert Work.objects.get(kind="queue").object_id == space.pk
    namespace = stage.gateway.get(NAMESPACE)
    assert namespace is not None
    assert namespace["metadata"]["labels"]["pod-security.kubernetes.io/enforce"] == "restricted"


def test_a_second_pass_writes_nothing(stage: Stage) -> None:
    stage.run()
    before = {key: obj["metadata"]["resourceVersion"] for key, obj in stage.inside().items()}
    stage.run()
    assert {key: obj["metadata"]["resourceVersion"] for key, obj in stage.inside().items()} == before
    assert stage.told() == []


def test_what_was_deleted_outside_is_made_again_and_told(stage: Stage) -> None:
    stage.run()
    policy = stage.inside()["NetworkPolicy/default-deny"]
    stage.gateway.delete(ObjectRef.of({**policy, "kind": "NetworkPolicy"}), uid=policy["metadata"]["uid"])
    stage.catch_up()
    stage.run()
    assert set(stage.inside()) == EXPECTED
    assert stage.told() == [("space_recreated", "NetworkPolicy/default-deny")]


def test_what_was_changed_outside_is_put_right_and_told(stage: Stage) -> None:
    stage.run()
    policy = stage.inside()["NetworkPolicy/allow-egress"]
    meta = policy["metadata"]
    stage.gateway.patch(
        ObjectRef("NetworkPolicy", "allow-egress", "turno-data"),
        {"spec": {"egress": [{}]}},
        uid=meta["uid"],
        resource_version=meta["resourceVersion"],
    )
    stage.catch_up()
    stage.run()
    assert stage.inside()["NetworkPolicy/allow-egress"]["spec"] == policy["spec"]
    assert [type_ for type_, _ in stage.told()] == ["space_mended"]


def test_a_deleted_namespace_comes_back_with_everything(stage: Stage) -> None:
    stage.run()
    found = stage.gateway.get(NAMESPACE)
    assert found is not None
    stage.gateway.delete(NAMESPACE, uid=found["metadata"]["uid"])
    stage.catch_up()
    for _ in range(3):
        space = stage.run()
    assert set(stage.inside()) == EXPECTED
    assert space.ready
    assert ("space_recreated", "Namespace/turno-data") in stage.told()
    assert Work.objects.get(kind="queue").wanted_seq > 1, "the queue in it is made again too"


def test_a_namespace_of_somebody_else_is_left_alone(stage: Stage) -> None:
    stage.gateway.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "turno-data"}})
    space = stage.run()
    assert not space.ready
    assert "Namespace/turno-data" in space.problem
    assert stage.inside() == {}


def test_a_closed_way_out_closes_the_network_policy(stage: Stage, manager: Person) -> None:
    stage.run()
    services.change_policy(manager, slug="data", changes={"egress": "none"})
    stage.run()
    assert "egress" not in stage.inside()["NetworkPolicy/allow-egress"]["spec"]
    services.change_policy(manager, slug="data", changes={"egress": "internet"})
    stage.run()
    assert stage.inside()["NetworkPolicy/allow-egress"]["spec"]["egress"]


def test_an_archived_teams_namespace_is_not_made_again(stage: Stage, administrator: Person) -> None:
    stage.run()
    services.change_tenant(administrator, slug="data", state="archived")
    stage.run()
    assert set(stage.inside()) == EXPECTED
    found = stage.gateway.get(NAMESPACE)
    assert found is not None
    stage.gateway.delete(NAMESPACE, uid=found["metadata"]["uid"])
    stage.catch_up()
    stage.run()
    assert stage.gateway.get(NAMESPACE) is None


def test_an_unreachable_cluster_is_told_and_tried_again(stage: Stage, settings: Settings) -> None:
    stage.run()
    settings.CLUSTER_CONNECTIONS = {"default": "http://127.0.0.1:9"}
    TenantSpace.objects.filter(pk=stage.space.pk).update(applied={})
    with transaction():
        work.wake("tenantspace", stage.space.pk)
    tasks.reconcile_space(str(stage.space.pk))
    stage.space.refresh_from_db()
    row = Work.objects.get(kind="tenantspace")
    assert stage.space.problem.startswith("Unreachable")
    assert stage.space.ready, "what is there stays usable"
    assert (row.parked_reason, row.attempts, row.due_at is not None) == ("", 1, True)


def test_a_row_that_is_gone_is_forgotten(stage: Stage) -> None:
    with transaction():
        work.wake("tenantspace", stage.space.pk)
    TenantSpace.objects.all().delete()
    tasks.reconcile_space(str(stage.space.pk))
    assert not Work.objects.filter(kind="tenantspace").exists()


def test_a_pass_that_lost_its_lease_records_nothing(stage: Stage) -> None:
    with transaction():
        work.wake("tenantspace", stage.space.pk)
    lease = work.acquire("tenantspace", stage.space.pk)
    assert lease is not None
    Work.objects.filter(kind="tenantspace").update(lease_token=uuid4())
    with pytest.raises(work.LeaseLost):
        reconcile.one(lease, stage.gateway)
    stage.space.refresh_from_db()
    assert (stage.space.ready, stage.space.applied) == (False, {})
    assert not Work.objects.filter(kind="queue").exists()
    # The next pass finds what the lost one wrote and makes nothing twice.
    Work.objects.filter(kind="tenantspace").update(lease_token=None)
    assert stage.run().ready
    assert set(stage.inside()) == EXPECTED


def refuse_accounts(monkeypatch: pytest.MonkeyPatch) -> None:
    """The server does not know yet that the worker may write in the namespace."""
    real = KubeGateway.apply

    def apply(self: KubeGateway, manifest: JsonObject, *, force: bool = False) -> JsonObject:
        if manifest["kind"] == "ServiceAccount":
            raise Forbidden("cannot patch resource serviceaccounts")
        return real(self, manifest, force=force)

    monkeypatch.setattr(KubeGateway, "apply", apply)


def test_rights_that_are_not_known_yet_are_waited_for(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patched:
        refuse_accounts(patched)
        space = stage.run()
    assert (space.ready, space.problem) == (False, "Forbidden: cannot patch resource serviceaccounts")
    due = Work.objects.get(kind="tenantspace").due_at
    assert due is not None
    assert due < clock.now() + timedelta(seconds=2)
    assert stage.run().ready is True


def test_rights_that_were_taken_away_later_are_asked_for_each_minute(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    stage.run()
    account = stage.inside()["ServiceAccount/workload"]
    stage.gateway.delete(ObjectRef.of({**account, "kind": "ServiceAccount"}), uid=account["metadata"]["uid"])
    stage.catch_up()
    refuse_accounts(monkeypatch)
    assert stage.run().ready is True
    due = Work.objects.get(kind="tenantspace").due_at
    assert due is not None
    assert due > clock.now() + timedelta(seconds=50)
