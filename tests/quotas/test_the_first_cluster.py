"""A cluster is there from the first migration, and becomes what the environment or the demo says."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import pytest
from django.apps import apps
from django.core.management import CommandError, call_command
from django.db import connection
from pytest_django.fixtures import Settings

from portal.cluster.models import Cluster
from portal.kernel import work
from portal.kernel.actors import Person, System
from portal.kernel.errors import Denied
from portal.kernel.models import Work
from quotas import services
from quotas.models import Flavor
from quotas.tasks import reconcile_flavor
from tenants import services as teams

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def migrated() -> None:
    """As the first migration leaves an empty database."""
    import_module("quotas.migrations.0007_first_cluster").add(apps, connection.schema_editor())


def configured(settings: Settings, **given: str) -> Cluster:
    settings.FIRST_CLUSTER = given
    call_command("first_cluster", verbosity=0)
    return Cluster.objects.get()


def test_it_has_its_cpu_flavor_and_somebody_will_look_at_it() -> None:
    flavor = Flavor.objects.get()
    assert (flavor.name, flavor.mode, flavor.cluster.name) == ("cpu", "none", "default")
    assert Work.objects.get(kind="flavor", object_id=flavor.pk).wanted_seq == 1


def test_a_database_that_has_a_cluster_gets_no_other() -> None:
    import_module("quotas.migrations.0007_first_cluster").add(apps, connection.schema_editor())
    assert Cluster.objects.count() == 1


def test_a_worker_without_its_connection_waits_for_one_and_gives_nothing_up(settings: Settings, frozen: Any) -> None:
    settings.CLUSTER_CONNECTIONS = {}
    flavor = Flavor.objects.get()
    for _ in range(work.PARK_AFTER + 2):
        reconcile_flavor(str(flavor.pk))
        frozen.move(seconds=60)
    assert Work.objects.get(object_id=flavor.pk).parked_reason == ""


def test_the_environment_names_and_configures_it(settings: Settings) -> None:
    row = configured(
        settings,
        name="lab",
        prefix="gpu-",
        instance="lab",
        notebook_port="8443",
        auth_filter="gateway.example.io/ExtAuth/turno",
    )
    assert (row.name, row.prefix, row.instance, row.notebook_port) == ("lab", "gpu-", "lab", 8443)
    assert row.auth_filter == {"group": "gateway.example.io", "kind": "ExtAuth", "name": "turno"}
    assert Flavor.objects.get().cluster == row


def test_without_words_nothing_changes(settings: Settings) -> None:
    assert configured(settings).name == "default"


def test_once_a_team_uses_it_the_environment_is_not_asked(settings: Settings) -> None:
    teams.create_tenant(System(), slug="data", name="Data")
    row = configured(settings, name="lab", prefix="gpu-", storage_class="fast")
    assert (row.name, row.prefix, row.storage_class) == ("default", "turno-", "")


@pytest.mark.parametrize("given", [{"prefixes": "x"}, {"notebook_port": "many"}, {"auth_filter": "x"}, {"name": "a b"}])
def test_a_wrong_word_is_named(settings: Settings, given: dict[str, str]) -> None:
    with pytest.raises(CommandError, match="TURNO_CLUSTER"):
        configured(settings, **given)


def test_it_is_an_administrators_to_give(owner: Person) -> None:
    with pytest.raises(Denied):
        services.settle_first(owner, name="mine")


def test_the_demo_takes_it_over(tmp_path: Any) -> None:
    first = Cluster.objects.get().pk
    for _ in range(2):
        call_command("demo_data", credentials=tmp_path / "credentials.json", verbosity=0)
        assert [(row.pk, row.name) for row in Cluster.objects.all()] == [(first, "demo")]
    assert Flavor.objects.filter(mode="none").get().name == "cpu"
