"""A person presses a button while a pass records: the button waits for that moment, and holds."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import pytest
from django.db import connections

from jobs import services, transitions
from jobs.models import Workload
from jobs.states import Reason
from portal.kernel import clock, work
from portal.kernel.actors import Person
from portal.kernel.transaction import transaction
from tests.factories import jobs
from tests.factories.quotas import Lab

pytestmark = [pytest.mark.services, pytest.mark.django_db(transaction=True)]


@pytest.fixture
def row(owner: Person, room: Lab) -> Workload:
    return jobs.submitted(owner)


def closed(command: Callable[[], object]) -> Callable[[], object]:
    """The command in a thread of its own, whose connections are closed in the end."""

    def run() -> object:
        try:
            return command()
        finally:
            connections.close_all()

    return run


def recording(row: Workload, begun: threading.Event, go_on: threading.Event) -> None:
    """A pass as it records: fence, then the workload, then the history."""
    lease = work.acquire("workload", row.pk)
    assert lease is not None
    with transaction():
        lease.fence()
        begun.set()
        go_on.wait(10)
        transitions.move(Workload.objects.get(pk=row.pk), reason=Reason.IN_LINE, now=clock.now())


@pytest.mark.parametrize("verb", ["stop", "delete", "change"])
def test_the_button_waits_for_the_pass_and_wins(owner: Person, row: Workload, verb: str) -> None:
    press: dict[str, Callable[[], object]] = {
        "stop": lambda: services.stop(owner, workload_id=row.pk),
        "delete": lambda: services.delete(owner, workload_id=row.pk),
        "change": lambda: services.change(owner, workload_id=row.pk, data={"description": "new words"}),
    }
    begun, go_on = threading.Event(), threading.Event()
    with ThreadPoolExecutor(2) as threads:
        passing = threads.submit(closed(lambda: recording(row, begun, go_on)))
        assert begun.wait(10)
        pressed = threads.submit(closed(press[verb]))
        assert not pressed.done()
        go_on.set()
        passing.result(15)
        pressed.result(15)
    after = Workload.objects.get(pk=row.pk)
    expected = {"stop": ("stopping", ""), "delete": ("deleting", ""), "change": ("queued", "new words")}
    assert (after.state, after.description) == expected[verb]


def test_many_presses_and_passes_end_without_a_deadlock(owner: Person, row: Workload) -> None:
    def passes() -> None:
        for number in range(20):
            lease = work.acquire("workload", row.pk)
            if lease is not None:
                with transaction():
                    lease.fence()
                    found = Workload.objects.get(pk=row.pk)
                    transitions.amend(found, changes={"nodes_admitted": number})
                work._release(lease, again=None, failed="", parkable=False)

    def presses(name: str) -> None:
        for number in range(20):
            services.change(owner, workload_id=row.pk, data={"description": f"{name} {number}"})

    with ThreadPoolExecutor(4) as threads:
        running = [threads.submit(closed(passes)), *(threads.submit(closed(lambda n=n: presses(n))) for n in "abc")]
        for one in running:
            one.result(60)
    assert Workload.objects.get(pk=row.pk).description.endswith("19")
