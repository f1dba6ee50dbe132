"""A cluster that takes calls and answers none: the pass still holds its object, so it can tell and back off."""

from __future__ import annotations

import socket
import uuid

import pytest
from pytest_django.fixtures import Settings

from portal.cluster import factory
from portal.cluster.port import ObjectRef, Unreachable
from portal.kernel import work
from portal.kernel.transaction import transaction
from portal.kernel.work import LEASE
from tests.factories.cluster import cluster


@pytest.mark.django_db
def test_after_two_calls_without_an_answer_the_outcome_can_be_recorded(settings: Settings) -> None:
    object_id = uuid.uuid4()
    with transaction():
        work.wake("thing", object_id)
    lease = work.acquire("thing", object_id)
    assert lease is not None
    with socket.create_server(("127.0.0.1", 0)) as silent:
        settings.CLUSTER_CONNECTIONS = {"default": f"http://127.0.0.1:{silent.getsockname()[1]}"}
        door = factory.gateway_of_pass(cluster(), lease)
        for _ in range(2):
            with pytest.raises(Unreachable):
                door.get(ObjectRef("Namespace", "turno-data", None))
    with transaction():
        lease.fence()


def test_a_call_of_a_pass_is_shorter_than_its_lease() -> None:
    assert factory.PASS.connect + factory.PASS.answer < LEASE.total_seconds()
