"""Allocations: when a run held quota, by the cluster's clock; told twice, late or out of order, they stay right."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from uuid import UUID

import pytest
from django.db import IntegrityError, transaction

from quotas import selectors, services
from quotas.models import Allocation

NINE = datetime(2026, 12, 1, 9, tzinfo=UTC)
WORKLOAD = UUID("01890000-0000-7000-8000-00000000000a")
HOLDER = services.Holder(
    cluster_id=UUID("01890000-0000-7000-8000-000000000001"),
    tenant_id=UUID("01890000-0000-7000-8000-000000000002"),
    tenant_slug="data",
    workload_id=WORKLOAD,
    workload_kind="training",
    run=1,
    owner_type="person",
    owner_label="olga",
    project="thesis",
)

pytestmark = pytest.mark.django_db


def at(minutes: int) -> datetime:
    return NINE + timedelta(minutes=minutes)


def opened(minutes: int, *, uid: str = "k1", units: int = 2) -> bool:
    return services.open_allocation(
        HOLDER, kueue_uid=uid, flavor="h100", resource="nvidia.com/gpu", units=units, admitted_at=at(minutes)
    )


def closed(minutes: int, *, uid: str = "k1", why: str = "finished", by: str = "") -> int:
    return services.close_allocation(kueue_uid=uid, released_at=at(minutes), why=why, by=by)


def intervals() -> list[tuple[datetime, datetime | None, str]]:
    return [(row.admitted_at, row.released_at, row.why) for row in selectors.allocations(WORKLOAD)]


def test_an_interval_opens_and_closes() -> None:
    assert opened(0)
    assert closed(30, why="preempted", by="another team") == 1
    row = Allocation.objects.get()
    assert (row.units, row.why, row.by, row.project, row.owner_label) == (
        2,
        "preempted",
        "another team",
        "thesis",
        "olga",
    )
    assert row.released_at == at(30)


def test_told_twice_it_is_one_interval() -> None:
    assert opened(0)
    assert not opened(0)
    assert closed(30) == 1
    assert closed(31, why="evicted") == 0
    assert not opened(0)
    assert intervals() == [(at(0), at(30), "finished")]


def test_an_eviction_and_a_new_admission_are_two_intervals() -> None:
    opened(0)
    closed(10, why="preempted")
    opened(20)
    assert intervals() == [(at(0), at(10), "preempted"), (at(20), None, "")]


def test_an_end_that_nobody_saw_is_closed_by_the_next_admission() -> None:
    opened(0)
    opened(20)
    assert intervals() == [(at(0), at(20), "unseen"), (at(20), None, "")]


def test_an_end_before_the_beginning_makes_an_interval_of_no_length() -> None:
    opened(20)
    assert closed(10) == 1
    assert intervals() == [(at(20), at(20), "finished")]


def test_each_workload_of_the_queue_system_has_its_own() -> None:
    opened(0, uid="k1")
    opened(5, uid="k2")
    closed(10, uid="k1")
    assert intervals() == [(at(0), at(10), "finished"), (at(5), None, "")]


def test_they_are_read_by_run() -> None:
    opened(0)
    assert selectors.allocations(WORKLOAD, run=1).count() == 1
    assert selectors.allocations(WORKLOAD, run=2).count() == 0


def test_the_table_itself_refuses_an_end_before_the_beginning() -> None:
    opened(20)
    with pytest.raises(IntegrityError), transaction.atomic():
        Allocation.objects.update(released_at=at(10))
