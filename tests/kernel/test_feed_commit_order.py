"""The feed: sequence numbers per scope in commit order, without gaps for whoever resumes."""

from __future__ import annotations

import threading
import uuid

import pytest
from django.db import connection

from portal.kernel import feed
from portal.kernel.models import FeedEntry
from portal.kernel.transaction import transaction


def say(scope: str, text: str, **more: object) -> None:
    feed.append(scope=scope, topic="workload", object_id=uuid.uuid4(), type=text, **more)


def broken(text: str) -> None:
    with transaction():
        say("tenant:a", text)
        raise RuntimeError


@pytest.mark.django_db
def test_entries_are_numbered_per_scope_in_the_order_they_were_said() -> None:
    with transaction():
        say("tenant:a", "one")
        say("tenant:b", "uno")
        say("tenant:a", "two")
    with transaction():
        say("tenant:a", "three")
    assert [(e.seq, e.type) for e in feed.since("tenant:a", 0)] == [(1, "one"), (2, "two"), (3, "three")]
    assert [(e.seq, e.type) for e in feed.since("tenant:b", 0)] == [(1, "uno")]
    assert feed.last_seqs(["tenant:a", "tenant:b", "tenant:c"]) == {"tenant:a": 3, "tenant:b": 1}


@pytest.mark.django_db
def test_what_rolls_back_takes_no_number() -> None:
    with pytest.raises(RuntimeError):
        broken("never")
    with transaction():
        say("tenant:a", "first")
    assert [e.seq for e in feed.since("tenant:a", 0)] == [1]


@pytest.mark.django_db
def test_what_a_failed_part_said_is_dropped_and_the_rest_kept() -> None:
    with transaction():
        say("tenant:a", "kept")
        with pytest.raises(RuntimeError):
            broken("dropped")
        say("tenant:a", "also kept")
    assert [e.type for e in feed.since("tenant:a", 0)] == ["kept", "also kept"]


@pytest.mark.django_db
def test_a_cluster_event_is_kept_once_however_often_it_is_copied() -> None:
    for _ in range(2):
        with transaction():
            say("tenant:a", "Pulled", event_uid="e-1")
    assert FeedEntry.objects.filter(event_uid="e-1").count() == 1


def test_history_outside_of_a_transaction_is_refused() -> None:
    with pytest.raises(RuntimeError, match="transaction"):
        say("tenant:a", "lost")


@pytest.mark.django_db(transaction=True)
def test_a_reader_that_resumes_never_misses_what_commits_later() -> None:
    """Writers in parallel: whoever has read up to N has seen every number up to N."""
    seen: list[int] = []
    stop = threading.Event()

    def write() -> None:
        try:
            for _ in range(10):
                with transaction():
                    say("tenant:a", "x")
        finally:
            connection.close()

    def read() -> None:
        try:
            while not stop.is_set() or len(seen) < 40:
                seen.extend(e.seq for e in feed.since("tenant:a", seen[-1] if seen else 0))
                if len(seen) >= 40:
                    break
        finally:
            connection.close()

    writers = [threading.Thread(target=write) for _ in range(4)]
    reader = threading.Thread(target=read)
    for thread in [reader, *writers]:
        thread.start()
    for thread in writers:
        thread.join()
    stop.set()
    reader.join(20)
    assert seen == list(range(1, 41))
