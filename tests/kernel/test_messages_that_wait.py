"""How many messages no worker has taken yet."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from celery import current_app
from kombu.exceptions import OperationalError

from portal.kernel import broker


@pytest.fixture
def queue() -> Iterator[None]:
    """An empty one, and one that ends with the test."""
    with current_app.connection_or_acquire() as connection:
        purge = connection.default_channel.queue_purge
        current_app.amqp.queues[current_app.conf.task_default_queue](connection.default_channel).declare()
        purge(current_app.conf.task_default_queue)
        yield
        purge(current_app.conf.task_default_queue)


def test_each_message_counts_until_somebody_takes_it(queue: None) -> None:
    assert broker.waiting() == 0
    assert broker.send("workload", "1")
    assert broker.send("workload", "2")
    assert broker.waiting() == 2


def test_a_broker_that_is_away_holds_none_and_is_left_alone_for_a_while(
    monkeypatch: pytest.MonkeyPatch, frozen: object
) -> None:
    asked: list[int] = []

    def away(*_: object, **__: object) -> None:
        asked.append(1)
        raise OperationalError("no")

    monkeypatch.setattr(broker, "_open_until", 0.0)
    monkeypatch.setattr(current_app, "connection_or_acquire", away)
    assert broker.waiting() == 0
    assert broker.is_open()
    assert broker.waiting() == 0
    assert len(asked) == 1
    monkeypatch.setattr(broker, "_open_until", 0.0)
