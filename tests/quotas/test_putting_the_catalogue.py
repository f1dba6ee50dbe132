"""Administrators put clusters, flavors, cohorts, priorities and images; every change is audited and woken."""

from datetime import date
from decimal import Decimal

import pytest

from portal.audit.models import AuditEvent
from portal.cluster.models import Cluster
from portal.kernel.actors import Person
from portal.kernel.errors import Conflict, Denied, Invalid, NotFound
from portal.kernel.models import Work
from quotas import services
from quotas.models import Cohort, Flavor, FlavorPrice, Image, PriorityClass, Queue, Quota
from tenants.models import Tenant, TenantSpace
from tests.factories.cluster import cluster
from tests.factories.quotas import H100, Lab


def woken(kind: str) -> set[object]:
    return set(Work.objects.filter(kind=kind).values_list("object_id", flat=True))


def test_a_new_cluster_has_a_cpu_flavor_and_a_space_for_every_team(administrator: Person, team: Tenant) -> None:
    row = services.put_cluster(administrator, name="north", connection="north", prefix="n-")
    space = TenantSpace.objects.get(tenant=team, cluster=row)
    assert space.namespace == "n-data"
    cpu = Flavor.objects.get(cluster=row)
    assert (cpu.name, cpu.mode, cpu.resource) == ("cpu", "none", "")
    assert woken("tenantspace") == woken("queue") == {space.pk}
    assert woken("flavor") == {cpu.pk}


def test_a_second_cluster_gets_a_cpu_flavor_of_its_own_name(administrator: Person) -> None:
    services.put_cluster(administrator, name="north")
    services.put_cluster(administrator, name="south")
    assert list(Flavor.objects.order_by("name").values_list("name", flat=True)) == ["cpu", "cpu-south"]


def test_changed_settings_of_a_cluster_wake_everything_on_it(administrator: Person, room: Lab, team: Tenant) -> None:
    services.put_cluster(administrator, name="demo", ingress_namespaces=["monitoring"])
    assert len(woken("flavor")) == 4
    assert len(woken("cohort")) == 1
    assert len(woken("priority")) == 3
    assert len(woken("tenantspace")) == len(woken("queue")) == 1


def test_what_names_the_objects_on_a_cluster_does_not_change(administrator: Person, lab: Lab) -> None:
    with pytest.raises(Invalid) as refused:
        services.put_cluster(administrator, name="demo", prefix="other-")
    assert [(error.field, error.code) for error in refused.value.errors] == [("prefix", "not_allowed")]


@pytest.mark.parametrize("who", ["manager", "outsider", "machine"])
def test_nobody_else_puts_anything(who: str, lab: Lab, request: pytest.FixtureRequest) -> None:
    actor = request.getfixturevalue(who)
    for command in (
        lambda: services.put_cluster(actor, name="north"),
        lambda: services.put_flavor(actor, name="x", cluster=lab.cluster, mode="whole", resource="nvidia.com/gpu"),
        lambda: services.delete_flavor(actor, name="h100"),
        lambda: services.put_cohort(actor, cluster=lab.cluster, name="x"),
        lambda: services.put_priority(actor, cluster=lab.cluster, name="x", value=1),
        lambda: services.put_image(actor, name="x", reference="a", kinds=["training"]),
        lambda: services.put_quota(actor, tenant="data", flavor="h100", nominal=1),
    ):
        with pytest.raises(Denied):
            command()
    assert not AuditEvent.objects.exists()


def test_a_flavor_is_put_audited_and_woken(administrator: Person, lab: Lab) -> None:
    row = services.put_flavor(
        administrator,
        name="a100",
        cluster=lab.cluster,
        mode="whole",
        resource="nvidia.com/gpu",
        node_labels={"nvidia.com/gpu.product": "NVIDIA-A100-SXM4-80GB"},
        memory_mib=81920,
    )
    event = AuditEvent.objects.get()
    assert (event.verb, event.target_label) == ("flavor.created", "a100")
    assert event.after is not None
    assert event.after["memory_mib"] == 81920
    assert woken("flavor") == {row.pk}


def test_putting_the_same_again_writes_nothing(administrator: Person, lab: Lab) -> None:
    for _ in range(2):
        services.put_flavor(administrator, name="h100", cluster=lab.cluster, memory_mib=80000)
    event = AuditEvent.objects.get()
    assert (event.before, event.after) == ({"memory_mib": 81559}, {"memory_mib": 80000})


@pytest.mark.parametrize(
    ("fields", "field"),
    [
        ({"mode": "claim"}, "mode"),
        ({"mode": "half"}, "mode"),
        ({"resource": "gpu"}, "resource"),
        ({"resource": ""}, "resource"),
        ({"mode": "mig", "resource": "nvidia.com/gpu"}, "resource"),
        ({"mode": "whole", "resource": "nvidia.com/mig-1g.10gb"}, "resource"),
        ({"mode": "none", "resource": "nvidia.com/gpu"}, "resource"),
        ({"mode": "none", "resource": "", "node_labels": {"a": "b"}}, "node_labels"),
        ({"node_labels": {"-a": "b"}}, "node_labels"),
        ({"node_labels": {"a": "b c"}}, "node_labels"),
        ({"node_labels": {f"l{number}": "x" for number in range(9)}}, "node_labels"),
        ({"tolerations": [{"keys": "x"}]}, "tolerations"),
        ({"memory_mib": -1}, "memory_mib"),
    ],
)
def test_a_bad_flavor_is_refused_at_its_field(
    administrator: Person, lab: Lab, fields: dict[str, object], field: str
) -> None:
    good = {"mode": "whole", "resource": "amd.com/gpu", "node_labels": {"amd.com/gpu.family": "x"}, "tolerations": []}
    with pytest.raises(Invalid) as refused:
        services.put_flavor(administrator, name="new", cluster=lab.cluster, **{**good, **fields})
    assert [error.field for error in refused.value.errors] == [field]
    assert not Flavor.objects.filter(name="new").exists()


@pytest.mark.parametrize("labels", [{"other": "x"}, {**H100, "zone": "a"}, H100, {}])
def test_flavors_of_one_resource_use_the_same_label_names_and_other_values(
    administrator: Person, lab: Lab, labels: dict[str, str]
) -> None:
    with pytest.raises(Invalid) as refused:
        services.put_flavor(
            administrator, name="new", cluster=lab.cluster, mode="whole", resource="nvidia.com/gpu", node_labels=labels
        )
    assert [error.field for error in refused.value.errors] == ["node_labels"]


@pytest.mark.parametrize("field", ["mode", "resource", "cluster"])
def test_what_a_flavor_is_does_not_change(administrator: Person, lab: Lab, field: str) -> None:
    values = {"mode": "shared", "resource": "nvidia.com/gpu.shared", "cluster": cluster("other")}
    with pytest.raises(Invalid) as refused:
        services.put_flavor(administrator, name="h100", **{"cluster": lab.cluster, field: values[field]})
    assert [(error.field, error.code) for error in refused.value.errors] == [(field, "not_allowed")]


def test_a_flavor_with_quota_is_not_deleted(administrator: Person, room: Lab) -> None:
    with pytest.raises(Conflict) as refused:
        services.delete_flavor(administrator, name="h100")
    assert refused.value.code == "in_use"


def test_a_deleted_flavor_cannot_be_chosen_and_waits_for_the_cluster(administrator: Person, lab: Lab) -> None:
    services.delete_flavor(administrator, name="h100")
    lab.whole.refresh_from_db()
    assert (lab.whole.deleting, lab.whole.active) == (True, False)
    assert woken("flavor") == {lab.whole.pk}
    with pytest.raises(NotFound):
        services.delete_flavor(administrator, name="h100")


def test_a_price_holds_from_a_day_on(administrator: Person, lab: Lab) -> None:
    services.put_price(administrator, flavor="h100", valid_from=date(2026, 1, 1), price_hour=Decimal("3.10"))
    assert FlavorPrice.objects.filter(flavor=lab.whole).count() == 2
    with pytest.raises(Invalid):
        services.put_price(administrator, flavor="h100", valid_from=date(2026, 1, 1), price_hour=Decimal("-1"))


def test_cohorts_make_a_tree_and_never_a_cycle(administrator: Person, lab: Lab) -> None:
    on = lab.cluster
    services.put_cohort(administrator, cluster=on, name="campus")
    services.put_cohort(administrator, cluster=on, name="lab", parent="campus")
    with pytest.raises(Invalid) as refused:
        services.put_cohort(administrator, cluster=on, name="campus", parent="lab")
    assert [error.field for error in refused.value.errors] == ["parent"]
    with pytest.raises(Invalid):
        services.put_cohort(administrator, cluster=on, name="lab", parent="lab")
    with pytest.raises(Invalid):
        services.put_cohort(administrator, cluster=on, name="lab", parent="nowhere")
    assert Cohort.objects.get(name="lab").parent == Cohort.objects.get(name="campus")


def test_a_cohort_with_teams_or_cohorts_is_not_deleted(administrator: Person, lab: Lab, team: Tenant) -> None:
    services.put_cohort(administrator, cluster=lab.cluster, name="campus")
    services.put_cohort(administrator, cluster=lab.cluster, name="lab", parent="campus")
    for name in ("lab", "campus"):
        with pytest.raises(Conflict):
            services.delete_cohort(administrator, cluster=lab.cluster, name=name)


def test_the_default_priority_moves(administrator: Person, lab: Lab) -> None:
    services.put_priority(administrator, cluster=lab.cluster, name="low", value=10, is_default=True)
    assert list(PriorityClass.objects.filter(is_default=True).values_list("name", flat=True)) == ["low"]
    assert set(AuditEvent.objects.values_list("target_label", flat=True)) == {"low", "normal"}


@pytest.mark.parametrize("value", [2**31, "5", True, None, 1.5])
def test_a_priority_is_a_whole_number_that_kubernetes_takes(administrator: Person, lab: Lab, value: object) -> None:
    with pytest.raises(Invalid):
        services.put_priority(administrator, cluster=lab.cluster, name="x", value=value)


@pytest.mark.parametrize(
    ("fields", "field"),
    [
        ({"uid": 0}, "uid"),
        ({"reference": "a b"}, "reference"),
        ({"reference": ""}, "reference"),
        ({"kinds": []}, "kinds"),
        ({"kinds": ["job"]}, "kinds"),
        ({"home": "home"}, "home"),
        ({"writable_paths": ["/a/../etc"]}, "writable_paths"),
        ({"command": "python"}, "command"),
        ({"env": {"1A": "x"}}, "env"),
    ],
)
def test_a_bad_image_is_refused_at_its_field(administrator: Person, fields: dict[str, object], field: str) -> None:
    good: dict[str, object] = {"reference": "registry.example/a:1", "kinds": ["training"]}
    with pytest.raises(Invalid) as refused:
        services.put_image(administrator, name="a", **{**good, **fields})
    assert [error.field for error in refused.value.errors] == [field]


def test_an_image_comes_changes_and_goes(administrator: Person) -> None:
    services.put_image(administrator, name="a", reference="registry.example/a:1", kinds=["training"])
    services.put_image(administrator, name="a", reference="registry.example/a:2")
    assert Image.objects.get().reference == "registry.example/a:2"
    services.delete_image(administrator, name="a")
    verbs = AuditEvent.objects.order_by("pk").values_list("verb", flat=True)
    assert list(verbs) == ["image.created", "image.changed", "image.deleted"]


def test_a_quota_wakes_the_teams_queue(administrator: Person, lab: Lab, team: Tenant) -> None:
    space = TenantSpace.objects.create(tenant=team, cluster=lab.cluster, namespace="turno-data")
    services.put_quota(administrator, tenant="data", flavor="h100", nominal=2, borrowing_limit=1, lending_limit=2)
    cell = Quota.objects.get()
    assert (cell.nominal, cell.borrowing_limit, cell.lending_limit, cell.resource) == (2, 1, 2, "nvidia.com/gpu")
    assert Queue.objects.get().pk == space.pk
    assert woken("queue") == {space.pk}
    event = AuditEvent.objects.get()
    assert (event.verb, event.tenant_slug, event.target_label) == ("quota.created", "data", "data/h100")


@pytest.mark.parametrize(
    ("fields", "field"),
    [
        ({"nominal": -1}, "nominal"),
        ({"nominal": None}, "nominal"),
        ({"nominal": 1.5}, "nominal"),
        ({"borrowing_limit": -1}, "borrowing_limit"),
        ({"lending_limit": 2}, "lending_limit"),
        ({"flavor": "cpu"}, "flavor"),
        ({"flavor": "nothing"}, "flavor"),
    ],
)
def test_a_bad_quota_is_refused_at_its_field(
    administrator: Person, room: Lab, team: Tenant, fields: dict[str, object], field: str
) -> None:
    with pytest.raises(Invalid) as refused:
        services.put_quota(administrator, **{"tenant": "data", "flavor": "h100", "nominal": 1, **fields})
    assert [error.field for error in refused.value.errors] == [field]


def test_a_quota_goes(administrator: Person, room: Lab, team: Tenant) -> None:
    services.delete_quota(administrator, tenant="data", flavor="h100")
    assert not Quota.objects.filter(flavor=room.whole).exists()
    with pytest.raises(NotFound):
        services.delete_quota(administrator, tenant="data", flavor="h100")


@pytest.mark.parametrize(
    ("fields", "field"),
    [
        ({"cpu": "-1"}, "cpu"),
        ({"memory": "4 Gi"}, "memory"),
        ({"within_queue": "Any"}, "within_queue"),
        ({"x": 1}, "x"),
    ],
)
def test_a_queues_manners_are_kueues(
    administrator: Person, room: Lab, team: Tenant, fields: dict[str, object], field: str
) -> None:
    with pytest.raises(Invalid) as refused:
        services.put_queue(administrator, tenant="data", cluster=room.cluster, **fields)
    assert [error.field for error in refused.value.errors] == [field]


def test_nothing_is_kept_when_the_audit_row_cannot_be_written(
    administrator: Person, lab: Lab, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(**row: object) -> None:
        raise RuntimeError("the audit log is full")

    monkeypatch.setattr(AuditEvent.objects, "create", broken)
    with pytest.raises(RuntimeError):
        services.put_cluster(administrator, name="north")
    assert Cluster.objects.count() == 1
    assert not Work.objects.exists()
