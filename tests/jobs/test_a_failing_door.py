"""The door fails at every step, before or after the write: nothing is doubled, nothing is lost, all is told."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from jobs import services
from jobs.models import RunObject, Workload
from portal.cluster.port import (
    ClusterError,
    Forbidden,
    InvalidObject,
    Missing,
    NamespaceTerminating,
    QueueSystemUnavailable,
    RejectedByWebhook,
    ServerTrouble,
    TooManyRequests,
    Unauthorized,
    Unreachable,
    VersionConflict,
)
from portal.kernel.actors import Person
from portal.kernel.models import Work
from portal.kernel.work import Lease
from tests.factories import jobs
from tests.jobs.stage import Stage

pytestmark = pytest.mark.django_db
WRITES = frozenset({"create", "apply", "patch", "delete"})
EVERYTHING = WRITES | {"get", "list"}


class Door:
    """The real gateway, with a fault at chosen calls. `after`: the call goes through and its answer is lost."""

    def __init__(self, real: Any) -> None:
        self.real = real
        self.calls = 0
        self.wrong: Callable[[int, str], ClusterError | None] = lambda number, verb: None
        self.after = False
        self.verbs: frozenset[str] = EVERYTHING

    def __getattr__(self, verb: str) -> Any:
        real = getattr(self.real, verb)
        if verb not in self.verbs:
            return real

        def call(*args: Any, **kwargs: Any) -> Any:
            self.calls += 1
            error = self.wrong(self.calls, verb)
            if error is None:
                return real(*args, **kwargs)
            if self.after:
                real(*args, **kwargs)
            raise error

        return call


@pytest.fixture
def door(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> Door:
    found = Door(stage.gateway)
    monkeypatch.setattr("jobs.tasks.gateway_of_pass", lambda cluster, lease: found)
    return found


def only(number: int, error: ClusterError) -> Callable[[int, str], ClusterError | None]:
    return lambda at, verb: error if at == number else None


def always(error: ClusterError) -> Callable[[int, str], ClusterError | None]:
    return lambda at, verb: error


def every_third(error: ClusterError) -> Callable[[int, str], ClusterError | None]:
    """Every third call fails, so that no pass gets through in one go."""
    return lambda at, verb: error if at % 3 == 1 else None


@pytest.mark.parametrize("after", [False, True], ids=["before", "answer-lost"])
@pytest.mark.parametrize(
    "fault",
    [only(1, Unreachable("reset")), only(4, Unreachable("reset")), every_third(Unreachable("reset"))],
    ids=["first", "fourth", "every-third"],
)
def test_calls_that_fail_while_a_notebook_starts(
    stage: Stage, door: Door, owner: Person, fault: Callable[[int, str], ClusterError | None], *, after: bool
) -> None:
    door.wrong, door.after, door.verbs = fault, after, WRITES
    row = stage.submit(owner, "notebook")
    stage.run(120, step=5)
    assert stage.reason(row) == ("running", "ready")
    for kind in ("StatefulSet", "Pod", "Service", "HTTPRoute", "Secret", "PersistentVolumeClaim"):
        assert len(stage.names(kind)) == 1, kind
    assert not RunObject.objects.filter(workload=row, uid="", owned_by_workload=False).exists()
    assert stage.runs(row) == [(1, "", None)]


@pytest.mark.parametrize("after", [False, True], ids=["before", "answer-lost"])
@pytest.mark.parametrize(
    "fault",
    [only(2, ServerTrouble("no")), only(6, ServerTrouble("no")), every_third(ServerTrouble("no"))],
    ids=["second", "sixth", "every-third"],
)
def test_calls_that_fail_while_it_is_deleted(
    stage: Stage, door: Door, owner: Person, fault: Callable[[int, str], ClusterError | None], *, after: bool
) -> None:
    row = stage.submit(owner, "notebook")
    stage.run(6)
    door.calls = 0
    door.wrong, door.after = fault, after
    services.delete(owner, workload_id=row.pk, delete_data=True)
    stage.run(200, step=10)
    assert stage.reason(row) == ("deleted", "deleted")
    for kind in ("StatefulSet", "Pod", "Service", "HTTPRoute", "Secret", "PersistentVolumeClaim", "Workload"):
        assert stage.names(kind) == [], kind


@pytest.mark.parametrize("number", range(1, 4))
def test_a_worker_that_dies_before_it_recorded_made_nothing_twice(
    stage: Stage, owner: Person, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    made = iter(range(1, 1000))

    class Killed(RuntimeError):
        pass

    def dies(*args: Any, **kwargs: Any) -> None:
        if next(made) == number:
            raise Killed
        return real(*args, **kwargs)

    real = Lease.fence
    monkeypatch.setattr(Lease, "fence", dies)
    row = stage.submit(owner, "endpoint")
    stage.run(20)
    assert stage.reason(row) == ("running", "ready")
    for kind in ("Deployment", "Pod", "Service", "HTTPRoute", "Secret"):
        assert len(stage.names(kind)) == 1, kind


class TestUnreachable:
    def test_accepted_work_says_since_when_and_goes_on_by_itself(self, stage: Stage, door: Door, owner: Person) -> None:
        door.wrong = always(Unreachable("connection refused"))
        row = stage.submit(owner, env={"TURNO_SIM_SECONDS": "3000"})
        assert stage.reason(row) == ("submitted", "cluster_unreachable")
        since = stage.now(row).reason_params["since"]
        stage.run(60, step=10)
        assert stage.reason(row) == ("submitted", "cluster_unreachable")
        assert stage.now(row).reason_params["since"] == since
        door.wrong = lambda number, verb: None
        stage.run(40, step=5)
        assert stage.now(row).state == "running"

    def test_a_stop_says_so_too_and_keeps_why_it_stops(self, stage: Stage, door: Door, owner: Person) -> None:
        row = stage.submit(owner, env={"TURNO_SIM_SECONDS": "3000"})
        stage.run(4)
        door.wrong = always(Unreachable("connection refused"))
        stage.stop(owner, row)
        assert stage.reason(row) == ("stopping", "stopping_unreachable")
        door.wrong = lambda number, verb: None
        stage.run(40, step=5)
        assert stage.reason(row) == ("stopped", "stopped_by_person")
        assert stage.now(row).reason_params == {"by": "olga"}

    def test_so_does_a_delete(self, stage: Stage, door: Door, owner: Person) -> None:
        row = stage.submit(owner, env={"TURNO_SIM_SECONDS": "3000"})
        stage.run(4)
        door.wrong = always(Unreachable("connection refused"))
        services.delete(owner, workload_id=row.pk)
        stage.settle()
        assert stage.reason(row) == ("deleting", "deleting_unreachable")
        door.wrong = lambda number, verb: None
        stage.run(40, step=5)
        assert stage.reason(row) == ("deleted", "deleted")


@pytest.mark.parametrize(
    ("error", "state", "reason"),
    [
        (QueueSystemUnavailable("failed calling webhook"), "submitted", "queue_system_unavailable"),
        (Forbidden("jobs.batch is forbidden"), "submitted", "cluster_refuses_access"),
        (Unauthorized("token expired"), "submitted", "cluster_refuses_access"),
        (NamespaceTerminating("being terminated"), "submitted", "waiting_for_space"),
        (Missing("namespaces not found"), "submitted", "waiting_for_space"),
        (RejectedByWebhook('admission webhook "x" denied the request'), "failed", "rejected"),
        (InvalidObject("spec.template: Required value"), "failed", "rejected"),
        (TooManyRequests("slow down", retry_after=3.0), "submitted", "accepted"),
        (VersionConflict("the object has been modified"), "submitted", "accepted"),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, ClusterError) else "",
)
def test_every_refusal_is_told_and_passes_when_the_cause_does(
    stage: Stage, door: Door, owner: Person, error: ClusterError, state: str, reason: str
) -> None:
    door.verbs = WRITES
    door.wrong = always(error)
    row = stage.submit(owner, env={"TURNO_SIM_SECONDS": "3000"})
    assert stage.reason(row) == (state, reason)
    assert Work.objects.get(kind="workload", object_id=row.pk).parked_reason == ""
    door.wrong = lambda number, verb: None
    if state == "failed":
        services.start(owner, workload_id=row.pk)
    stage.run(40, step=5)
    assert stage.now(row).state == "running"
    assert len(stage.names("Job")) == 1


def test_a_retry_after_is_waited_for(stage: Stage, door: Door, owner: Person) -> None:
    door.verbs, door.wrong = WRITES, always(TooManyRequests("slow down", retry_after=30.0))
    stage.submit(owner)
    calls = door.calls
    stage.run(25, step=5)
    assert door.calls == calls


def test_one_that_cannot_be_made_delays_no_other(stage: Stage, door: Door, owner: Person) -> None:
    refused = InvalidObject("no")
    door.verbs = frozenset({"create"})
    door.wrong = lambda number, verb: refused if number == 1 else None
    poison = jobs.submitted(owner, name="poison")
    good = jobs.submitted(owner, name="good", env={"TURNO_SIM_SECONDS": "3000"})
    stage.settle()
    stage.run(4)
    assert stage.now(poison).state == "failed"
    assert stage.reason(good) == ("running", "ready")
    assert Workload.objects.count() == 2


@pytest.mark.parametrize("kind", ["training", "notebook", "endpoint"])
def test_work_that_goes_on_undisturbed_costs_no_call(stage: Stage, door: Door, owner: Person, kind: str) -> None:
    row = stage.submit(owner, kind, **({"env": {"TURNO_SIM_SECONDS": "9000"}} if kind == "training" else {}))
    stage.run(12)
    assert stage.reason(row) == ("running", "ready")
    before = door.calls
    for _ in range(5):
        stage.clock.move(minutes=10)
        stage.settle()
    assert stage.reason(row) == ("running", "ready")
    assert door.calls == before
