"""Many commands at once on a real database: the same rules, nothing doubled, no error but the room's own."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from uuid import UUID

import pytest
from django.db import connections

from portal.kernel.actors import Person
from portal.kernel.errors import PortalError
from quotas import services
from quotas.models import Allocation, Cohort, PriorityClass, Quota
from quotas.services import Holder
from tenants import services as tenant_services
from tenants.models import Tenant, TenantSpace
from tests.factories import tenants as people
from tests.factories.quotas import Lab, lab

pytestmark = [pytest.mark.services, pytest.mark.django_db(transaction=True)]


def at_once(commands: Sequence[Callable[[], object]]) -> Counter[str]:
    """Runs them together; how many went through (`done`) and the codes of those that were refused."""
    start = threading.Barrier(len(commands))
    outcomes: Counter[str] = Counter()

    def run(command: Callable[[], object]) -> None:
        try:
            start.wait()
            command()
            outcomes["done"] += 1
        except PortalError as refusal:
            outcomes[refusal.code] += 1
        finally:
            connections.close_all()

    threads = [threading.Thread(target=run, args=(command,)) for command in commands]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return outcomes


@pytest.fixture
def ada() -> Person:
    return people.person(people.user("ada", admin=True))


@pytest.fixture
def server() -> Lab:
    return lab()


def test_one_slug_is_one_team(ada: Person, server: Lab) -> None:
    found = at_once([lambda: tenant_services.create_tenant(ada, slug="vision", name="Vision")] * 8)
    assert found == {"done": 1, "name_taken": 7}
    assert Tenant.objects.count() == TenantSpace.objects.count() == 1


def test_one_cell_of_quota_is_one_row(ada: Person, server: Lab) -> None:
    tenant_services.create_tenant(ada, slug="vision", name="Vision")

    def put(nominal: int) -> Callable[[], object]:
        return lambda: services.put_quota(ada, tenant="vision", flavor="h100", nominal=nominal)

    found = at_once([put(number) for number in range(8)])
    assert found["done"] == 8
    assert Quota.objects.count() == 1


def test_at_most_one_priority_is_the_default(ada: Person, server: Lab) -> None:
    def put(name: str) -> Callable[[], object]:
        return lambda: services.put_priority(ada, cluster=server.cluster, name=name, value=5, is_default=True)

    assert at_once([put(f"p{number}") for number in range(6)])["done"] == 6
    assert PriorityClass.objects.filter(is_default=True).count() == 1


def test_two_cohorts_never_hang_below_each_other(ada: Person, server: Lab) -> None:
    for name in ("north", "south"):
        services.put_cohort(ada, cluster=server.cluster, name=name)

    def hang(name: str, parent: str) -> Callable[[], object]:
        return lambda: services.put_cohort(ada, cluster=server.cluster, name=name, parent=parent)

    found = at_once([hang("north", "south"), hang("south", "north")])
    assert found == {"done": 1, "invalid": 1}
    assert Cohort.objects.filter(parent__isnull=False).count() == 1


def test_a_flavor_is_not_deleted_while_it_gets_quota(ada: Person, server: Lab) -> None:
    tenant_services.create_tenant(ada, slug="vision", name="Vision")
    at_once(
        [
            lambda: services.delete_flavor(ada, name="h100"),
            lambda: services.put_quota(ada, tenant="vision", flavor="h100", nominal=1),
        ]
    )
    server.whole.refresh_from_db()
    assert server.whole.deleting is not Quota.objects.filter(flavor=server.whole).exists()


def test_an_interval_told_by_many_is_one() -> None:
    some = UUID("01890000-0000-7000-8000-000000000001")
    holder = Holder(some, some, "data", some, "training", 1, "person", "olga")
    begins = datetime(2026, 12, 1, 9, tzinfo=UTC)

    def tell() -> None:
        services.open_allocation(
            holder, kueue_uid="k", flavor="h100", resource="nvidia.com/gpu", units=1, admitted_at=begins
        )
        services.close_allocation(kueue_uid="k", released_at=begins + timedelta(hours=1), why="finished")

    at_once([tell] * 8)
    row = Allocation.objects.get()
    assert row.released_at == begins + timedelta(hours=1)
