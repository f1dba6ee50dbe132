"""The work table: nothing that was asked for is forgotten, and only one pass at a time may write."""

from __future__ import annotations

import uuid
from datetime import timedelta

import pytest
from django.db import transaction as django_transaction
from django.db.models import QuerySet
from django.db.models.functions import Now

from portal.kernel import broker, clock, work
from portal.kernel.models import Work
from portal.kernel.transaction import transaction

KIND = "workload"


@pytest.fixture
def sent(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    messages: list[str] = []
    monkeypatch.setattr(broker, "send", lambda kind, object_id: messages.append(object_id) or True)
    return messages


def wake(object_id: uuid.UUID, **options: float) -> None:
    with transaction():
        work.wake(KIND, object_id, **options)


def broken_wake() -> None:
    with transaction():
        work.wake(KIND, uuid.uuid4())
        raise RuntimeError("no")


def row(object_id: uuid.UUID) -> Work:
    return Work.objects.get(kind=KIND, object_id=object_id)


@pytest.mark.django_db(transaction=True)
def test_a_wake_sends_one_message_and_more_wakes_within_five_seconds_send_none(sent, frozen) -> None:
    one = uuid.uuid4()
    wake(one)
    wake(one)
    assert sent == [str(one)]
    assert row(one).wanted_seq == 2
    frozen.move(seconds=6)
    wake(one)
    assert sent == [str(one)] * 2


@pytest.mark.django_db(transaction=True)
def test_a_wake_that_rolls_back_leaves_neither_row_nor_message(sent) -> None:
    with pytest.raises(RuntimeError, match="no"):
        broken_wake()
    assert sent == []
    assert not Work.objects.exists()


@pytest.mark.django_db
def test_what_is_wanted_during_a_pass_is_done_by_one_more_pass(frozen) -> None:
    one = uuid.uuid4()
    wake(one)
    seen: list[int] = []

    def one_pass(lease: work.Lease) -> None:
        seen.append(lease.seq)
        if len(seen) == 1:
            wake(one)

    assert work.run(KIND, one, one_pass)
    assert seen == [1, 2]
    assert row(one).done_seq == row(one).wanted_seq == 2


@pytest.mark.django_db
def test_a_wake_at_the_very_end_of_a_pass_is_not_postponed_with_the_rest(
    frozen, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It comes after the pass, and before anything of its end is written."""
    one = uuid.uuid4()
    wake(one)
    release = work._release
    late = [True]

    def released(lease: work.Lease, **how: object) -> bool:
        update = QuerySet.update

        def updated(rows: QuerySet[Work], **values: object) -> int:
            if late:
                late.clear()
                wake(one)
            return update(rows, **values)

        monkeypatch.setattr(QuerySet, "update", updated)
        try:
            return release(lease, **how)
        finally:
            monkeypatch.setattr(QuerySet, "update", update)

    monkeypatch.setattr(work, "_release", released)
    passes: list[int] = []
    work.run(KIND, one, lambda lease: passes.append(lease.seq) or 300.0)
    assert passes == [1, 2]


@pytest.mark.django_db
def test_a_second_pass_cannot_start_while_the_lease_is_held() -> None:
    one = uuid.uuid4()
    wake(one)
    assert work.acquire(KIND, one) is not None
    assert work.acquire(KIND, one) is None


@pytest.mark.django_db
def test_an_old_lease_cannot_write_after_somebody_else_took_over() -> None:
    one = uuid.uuid4()
    wake(one)
    old = work.acquire(KIND, one)
    assert old is not None
    Work.objects.update(lease_until=Now() - timedelta(seconds=1))
    new = work.acquire(KIND, one)
    assert new is not None
    with pytest.raises(work.LeaseLost), django_transaction.atomic():
        old.fence()
    new.fence()


@pytest.mark.django_db
def test_a_lease_that_ran_out_by_the_databases_clock_is_lost_even_if_nobody_took_it() -> None:
    one = uuid.uuid4()
    wake(one)
    lease = work.acquire(KIND, one)
    assert lease is not None
    Work.objects.update(lease_until=Now() - timedelta(milliseconds=1))
    with pytest.raises(work.LeaseLost):
        lease.fence()


@pytest.mark.django_db
def test_before_a_cluster_write_a_short_lease_is_renewed_and_a_dead_one_refused() -> None:
    one = uuid.uuid4()
    wake(one)
    lease = work.acquire(KIND, one)
    assert lease is not None
    lease.expires = clock.monotonic() + 0.5
    lease.require(1.0)
    assert lease.expires - clock.monotonic() > 4
    lease.expires = clock.monotonic() - 1
    with pytest.raises(work.LeaseLost):
        lease.require()


@pytest.mark.django_db
def test_poison_backs_off_then_is_parked_with_its_reason_and_a_wake_takes_it_up_again(frozen) -> None:
    one = uuid.uuid4()
    wake(one)

    def poison(_lease: work.Lease) -> float:
        raise ValueError("always 422")

    for attempt in range(work.PARK_AFTER):
        assert row(one).parked_reason == "", attempt
        assert work.run(KIND, one, poison)
        frozen.move(seconds=60)
    assert row(one).parked_reason == "ValueError: always 422"
    assert work.acquire(KIND, one) is None
    assert list(work.due()) == []
    wake(one)
    assert row(one).parked_reason == ""
    frozen.move(seconds=6)
    assert [found.object_id for found in work.due()] == [one]


@pytest.mark.django_db
def test_a_passing_cause_never_parks(frozen) -> None:
    one = uuid.uuid4()
    wake(one)

    def unreachable(_lease: work.Lease) -> float:
        raise work.Retry("the cluster does not answer", after=3)

    for _ in range(work.PARK_AFTER * 3):
        assert work.run(KIND, one, unreachable)
        frozen.move(seconds=4)
    work.run(KIND, one, unreachable)
    assert row(one).parked_reason == ""
    assert list(work.due()) == []
    frozen.move(seconds=4)
    assert len(work.due()) == 1


@pytest.mark.django_db
def test_the_sweep_finds_a_lost_message_and_what_became_due(frozen) -> None:
    lost, later = uuid.uuid4(), uuid.uuid4()
    wake(lost)
    wake(later, in_seconds=30)
    messages: list[str] = []

    def send(_kind: str, object_id: str) -> bool:
        messages.append(object_id)
        return True

    assert work.sweep(send) == 0, "somebody was told a moment ago"
    frozen.move(seconds=6)
    assert work.sweep(send) == 1
    assert messages == [str(lost)]
    frozen.move(seconds=30)
    work.sweep(send)
    assert str(later) in messages


@pytest.mark.django_db
def test_a_broker_that_does_not_answer_stops_the_sweep_and_loses_nothing(frozen) -> None:
    for _ in range(3):
        wake(uuid.uuid4())
    frozen.move(seconds=6)
    assert work.sweep(lambda _kind, _id: False) == 0
    assert len(work.due()) == 3


@pytest.mark.django_db
def test_a_message_that_comes_twice_costs_no_second_pass(frozen) -> None:
    one, passes = uuid.uuid4(), []
    wake(one)

    def look(lease: work.Lease) -> float:
        passes.append(lease.seq)
        return 30.0

    assert work.run(KIND, one, look)
    assert not work.run(KIND, one, look)
    wake(one)
    assert work.run(KIND, one, look)
    assert passes == [1, 2]


@pytest.mark.django_db
def test_a_message_does_not_shorten_the_patience_after_a_failure(frozen) -> None:
    one = uuid.uuid4()
    wake(one)
    assert work.run(KIND, one, refused)
    assert not work.run(KIND, one, refused)
    frozen.move(seconds=31)
    assert work.run(KIND, one, refused)


@pytest.mark.django_db
def test_while_workers_are_behind_the_sweep_tells_them_nothing_twice(frozen) -> None:
    for _ in range(3):
        wake(uuid.uuid4())
    frozen.move(seconds=6)
    told: list[str] = []

    def send(_kind: str, object_id: str) -> bool:
        told.append(object_id)
        return True

    assert work.sweep(send, lambda: work.ENOUGH_WAITING) == 0
    assert work.sweep(send, lambda: work.ENOUGH_WAITING - 1) == 3
    assert len(set(told)) == 3


@pytest.mark.django_db
def test_a_pass_that_says_when_to_look_again_is_due_then(frozen) -> None:
    one = uuid.uuid4()
    wake(one)
    work.run(KIND, one, lambda _lease: 20.0)
    assert not work.due()
    frozen.move(seconds=21)
    assert len(work.due()) == 1


@pytest.mark.django_db
def test_a_killed_worker_delays_its_object_by_one_lease(frozen) -> None:
    one = uuid.uuid4()
    wake(one)
    assert work.acquire(KIND, one)
    frozen.move(seconds=6)
    assert not work.due(), "held until the lease runs out"
    Work.objects.update(lease_until=Now() - timedelta(seconds=1))
    assert len(work.due()) == 1


@pytest.mark.django_db
@pytest.mark.parametrize("again", [None, 300.0])
def test_a_pass_that_never_ended_is_made_again_although_nothing_new_is_wanted(frozen, again: float | None) -> None:
    """Whoever took it when nothing was due (an older version did) died on the way."""
    one = uuid.uuid4()
    wake(one)
    work.run(KIND, one, lambda _lease: again)
    Work.objects.update(lease_token=uuid.uuid4(), lease_until=Now() + work.LEASE)
    frozen.move(seconds=6)
    assert not work.due()
    Work.objects.update(lease_until=Now() - timedelta(seconds=1))
    assert len(work.due()) == 1
    work.run(KIND, one, lambda _lease: again)
    assert row(one).lease_token is None
    assert not work.due()


def refused(_lease: work.Lease) -> float | None:
    raise work.Retry("the cluster is away", after=30.0)


@pytest.mark.django_db
def test_when_what_failed_is_back_nobody_waits_for_patience_to_end(frozen) -> None:
    waits, rests = uuid.uuid4(), uuid.uuid4()
    wake(waits)
    work.run(KIND, waits, refused)
    wake(rests)
    work.run(KIND, rests, lambda _lease: 20.0)
    assert not work.due()
    assert work.hurry() == 1
    assert [one.object_id for one in work.due()] == [waits]
