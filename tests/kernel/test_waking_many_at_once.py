"""Waking many objects is waking each of them, in a number of statements that does not grow with them."""

from __future__ import annotations

import uuid
from datetime import timedelta

import pytest
from django.db import connection
from django.forms.models import model_to_dict
from django.test.utils import CaptureQueriesContext

from portal.kernel import broker, clock, work
from portal.kernel.models import Work
from portal.kernel.transaction import transaction
from tests.conftest import FrozenClock

NEW, IDLE, PARKED, LATER, QUEUED = (uuid.UUID(int=number) for number in range(1, 6))


@pytest.fixture
def sent(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, str]]:
    found: list[tuple[str, str]] = []

    def send(kind: str, object_id: str) -> bool:
        found.append((kind, object_id))
        return True

    monkeypatch.setattr(broker, "send", send)
    return found


def rows() -> list[dict[str, object]]:
    return [model_to_dict(row, exclude=["id"]) for row in Work.objects.order_by("object_id")]


def prepare() -> None:
    Work.objects.all().delete()
    now = clock.now()
    for object_id, values in {
        IDLE: {"wanted_seq": 3, "done_seq": 3},
        PARKED: {"wanted_seq": 2, "attempts": 8, "parked_reason": "poison"},
        LATER: {"wanted_seq": 1, "done_seq": 1, "due_at": now + timedelta(hours=1)},
        QUEUED: {"wanted_seq": 5, "due_at": now, "queued_at": now - timedelta(seconds=1)},
    }.items():
        Work.objects.create(kind="workload", object_id=object_id, **values)


@pytest.mark.django_db(transaction=True)
def test_many_at_once_are_as_if_one_by_one(frozen: FrozenClock, sent: list[tuple[str, str]]) -> None:
    everybody = [NEW, IDLE, PARKED, LATER, QUEUED]
    prepare()
    with transaction():
        for each in everybody:
            work.wake("workload", each)
    one_by_one, messages = rows(), sorted(sent)
    sent.clear()
    prepare()
    with transaction():
        work.wake_many("workload", everybody)

    assert rows() == one_by_one
    assert sorted(sent) == messages
    assert ("workload", str(QUEUED)) not in sent


@pytest.mark.django_db
def test_the_number_of_statements_is_fixed(sent: list[tuple[str, str]]) -> None:
    counts = []
    for size in (2, 50):
        with transaction(), CaptureQueriesContext(connection) as queries:
            work.wake_many("workload", [uuid.uuid4() for _ in range(size)])
        counts.append(len(queries))

    assert counts[0] == counts[1]


@pytest.mark.django_db
def test_nobody_to_wake_is_no_message(sent: list[tuple[str, str]]) -> None:
    with transaction():
        work.wake_many("workload", [])

    assert rows() == []


@pytest.mark.django_db(transaction=True)
def test_who_waits_for_a_worker_is_not_told_of_again_however_long_it_waits(
    frozen: FrozenClock, sent: list[tuple[str, str]]
) -> None:
    one = uuid.uuid4()
    for _ in range(4):
        with transaction():
            work.wake_many("workload", [one])
        frozen.move(seconds=20)
    assert Work.objects.get(object_id=one).wanted_seq == 4
    assert [found.object_id for found in work.due()] == [one], "the sweep finds it"
    assert len(sent) == 1
