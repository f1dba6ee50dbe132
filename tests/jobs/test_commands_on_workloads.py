"""Stop, start, delete and change, as far as rows go: who may, in which state, with which answer."""

from __future__ import annotations

from typing import Any

import pytest

from jobs import selectors, services, transitions
from jobs.errors import AlreadyFinal, NameTaken, StopFirst
from jobs.models import Run, Workload
from jobs.states import Reason
from portal.audit.models import AuditEvent
from portal.kernel.actors import Machine, Person
from portal.kernel.errors import Conflict, Denied, Invalid
from portal.kernel.models import Work
from portal.kernel.transaction import transaction
from tenants.errors import TenantSuspended
from tenants.models import Policy, Tenant
from tests.conftest import FrozenClock
from tests.factories import jobs
from tests.factories.quotas import Lab

pytestmark = pytest.mark.django_db


@pytest.fixture
def row(owner: Person, room: Lab, frozen: FrozenClock) -> Workload:
    return jobs.submitted(owner)


def bring(row: Workload, reason: Reason, frozen: FrozenClock) -> Workload:
    """The workload in the reason's state; a final one with its run closed."""
    found = Workload.objects.select_related("tenant", "cluster", "flavor").get(pk=row.pk)
    with transaction():
        if reason in (Reason.COMPLETED, Reason.EXIT_CODE, Reason.STOPPED_BY_PERSON):
            if reason is Reason.STOPPED_BY_PERSON:
                transitions.move(found, reason=Reason.STOP_REQUESTED, now=frozen.at)
            run = Run.objects.get(workload=row, ended_at=None)
            transitions.close_run(run, outcome="stopped", reason=reason, now=frozen.at)
        transitions.move(found, reason=reason, now=frozen.at)
    return found


def state(row: Workload) -> str:
    return str(Workload.objects.get(pk=row.pk).state)


class TestStop:
    @pytest.mark.parametrize("reason", [Reason.ACCEPTED, Reason.IN_LINE, Reason.NO_NODE_FITS, Reason.READY])
    def test_a_live_one_begins_to_stop(self, row: Workload, owner: Person, frozen: FrozenClock, reason: Reason) -> None:
        bring(row, reason, frozen)
        found = services.stop(owner, workload_id=row.pk)
        assert (found.state, found.wanted, found.reason_params) == ("stopping", "stop", {"by": "olga"})
        assert AuditEvent.objects.filter(verb="workload.stop").count() == 1

    def test_a_stopped_one_stays(self, row: Workload, owner: Person, frozen: FrozenClock) -> None:
        bring(row, Reason.STOPPED_BY_PERSON, frozen)
        assert services.stop(owner, workload_id=row.pk).state == "stopped"
        assert not AuditEvent.objects.filter(verb="workload.stop").exists()

    @pytest.mark.parametrize("reason", [Reason.COMPLETED, Reason.EXIT_CODE])
    def test_one_that_ended_by_itself_is_already_final(
        self, row: Workload, owner: Person, frozen: FrozenClock, reason: Reason
    ) -> None:
        bring(row, reason, frozen)
        with pytest.raises(AlreadyFinal):
            services.stop(owner, workload_id=row.pk)

    def test_twice_is_once(self, row: Workload, owner: Person, frozen: FrozenClock) -> None:
        services.stop(owner, workload_id=row.pk)
        services.stop(owner, workload_id=row.pk)
        assert AuditEvent.objects.filter(verb="workload.stop").count() == 1

    def test_one_that_is_being_deleted_says_so(self, row: Workload, owner: Person) -> None:
        services.delete(owner, workload_id=row.pk)
        for command in (services.stop, services.start):
            with pytest.raises(Conflict) as refused:
                command(owner, workload_id=row.pk)
            assert refused.value.code == "deleting"

    def test_an_ended_one_goes_although_another_has_its_name_by_now(
        self, row: Workload, owner: Person, frozen: FrozenClock
    ) -> None:
        bring(row, Reason.COMPLETED, frozen)
        other = jobs.submitted(owner)
        assert services.delete(owner, workload_id=row.pk).state == "deleting"
        assert services.delete(owner, workload_id=other.pk).state == "deleting"
        with pytest.raises(NameTaken):
            jobs.submitted(owner)


class TestStart:
    @pytest.mark.parametrize("reason", [Reason.COMPLETED, Reason.EXIT_CODE, Reason.STOPPED_BY_PERSON])
    def test_a_final_one_begins_a_new_run(
        self, row: Workload, owner: Person, frozen: FrozenClock, reason: Reason
    ) -> None:
        bring(row, reason, frozen)
        found = services.start(owner, workload_id=row.pk)
        assert (found.state, found.run_number) == ("submitted", 2)
        assert Run.objects.filter(workload=row, ended_at=None).count() == 1

    def test_a_live_one_stays_as_it_is(self, row: Workload, owner: Person, frozen: FrozenClock) -> None:
        bring(row, Reason.READY, frozen)
        assert services.start(owner, workload_id=row.pk).run_number == 1

    def test_a_taken_name_waits(self, row: Workload, owner: Person, frozen: FrozenClock) -> None:
        bring(row, Reason.COMPLETED, frozen)
        jobs.submitted(owner)
        with pytest.raises(NameTaken):
            services.start(owner, workload_id=row.pk)
        assert state(row) == "succeeded"

    def test_a_suspended_team_starts_nothing(self, row: Workload, owner: Person, frozen: FrozenClock) -> None:
        bring(row, Reason.COMPLETED, frozen)
        Tenant.objects.update(state="suspended")
        with pytest.raises(TenantSuspended):
            services.start(owner, workload_id=row.pk)

    def test_todays_policy_counts(self, row: Workload, owner: Person, team: Tenant, frozen: FrozenClock) -> None:
        bring(row, Reason.COMPLETED, frozen)
        Policy.objects.filter(tenant=team).update(images=["vllm"])
        with pytest.raises(Invalid) as refused:
            services.start(owner, workload_id=row.pk)
        assert [(fault.field, fault.code) for fault in refused.value.errors] == [("image", "not_allowed")]

    def test_the_limit_of_live_work_counts(
        self, row: Workload, owner: Person, team: Tenant, frozen: FrozenClock
    ) -> None:
        bring(row, Reason.COMPLETED, frozen)
        jobs.submitted(owner, name="other")
        Policy.objects.filter(tenant=team).update(max_live=1)
        with pytest.raises(Conflict) as refused:
            services.start(owner, workload_id=row.pk)
        assert refused.value.code == "max_live"


class TestRights:
    def test_a_teammate_may_look_and_not_touch(self, row: Workload, teammate: Person, machine: Machine) -> None:
        for actor in (teammate, machine):
            assert selectors.workload(actor, row.pk).pk == row.pk
            for command in (services.stop, services.start, services.delete):
                with pytest.raises(Denied):
                    command(actor, workload_id=row.pk)
            with pytest.raises(Denied):
                services.change(actor, workload_id=row.pk, data={"description": "x"})

    def test_a_manager_may(self, row: Workload, manager: Person) -> None:
        services.change(manager, workload_id=row.pk, data={"description": "x"})
        assert services.stop(manager, workload_id=row.pk).state == "stopping"

    def test_a_read_token_may_not(self, row: Workload, owner: Person) -> None:
        reader = Person(owner.id, owner.username, scopes=frozenset({"read"}))
        with pytest.raises(Denied):
            services.stop(reader, workload_id=row.pk)

    def test_notebook_logs_are_the_owners(self, room: Lab, owner: Person, teammate: Person, manager: Person) -> None:
        jobs.with_gateway(room.cluster)
        notebook = jobs.submitted(owner, "notebook")
        assert selectors.may(owner, notebook).read_logs
        for actor in (teammate, manager):
            assert not selectors.may(actor, notebook).read_logs
            with pytest.raises(Denied):
                selectors.log_access(actor, notebook.pk)

    def test_training_logs_are_the_teams(self, row: Workload, viewer: Person) -> None:
        assert selectors.may(viewer, row).read_logs
        assert not selectors.may(viewer, row).change


class TestChange:
    def change(self, actor: Person, row: Workload, **data: Any) -> Workload:
        return services.change(actor, workload_id=row.pk, data=data)

    def test_live_fields_change_live(self, row: Workload, owner: Person, manager: Person, frozen: FrozenClock) -> None:
        bring(row, Reason.READY, frozen)
        self.change(owner, row, description="better", labels={"cost": "b"}, priority="low")
        found = Workload.objects.get(pk=row.pk)
        assert (found.description, found.labels, found.priority) == ("better", {"cost": "b"}, "low")
        assert (found.spec_revision, found.spec["priority"]) == (2, "low")
        assert Work.objects.get(object_id=row.pk).wanted_seq == 2

    @pytest.mark.parametrize(
        "data", [{"memory": "16Gi"}, {"gpus": 2}, {"env": {"A": "b"}}, {"command": ["x"]}, {"max_duration": 60}]
    )
    def test_everything_else_stops_first(
        self, row: Workload, owner: Person, frozen: FrozenClock, data: dict[str, Any]
    ) -> None:
        bring(row, Reason.READY, frozen)
        with pytest.raises(StopFirst):
            services.change(owner, workload_id=row.pk, data=data)
        assert Workload.objects.get(pk=row.pk).spec_revision == 1

    def test_a_stopped_one_changes_whole(self, row: Workload, owner: Person, frozen: FrozenClock, room: Lab) -> None:
        bring(row, Reason.STOPPED_BY_PERSON, frozen)
        found = self.change(owner, row, flavor="h100", memory="16Gi", env={"A": "b"})
        assert (found.flavor, found.request.memory, found.request.env) == (room.whole, "16Gi", {"A": "b"})
        services.start(owner, workload_id=row.pk)
        run = Run.objects.get(workload=row, number=2)
        assert (run.spec["memory"], run.spec["env"], run.flavor_name) == ("16Gi", {"A": "b"}, "h100")

    @pytest.mark.parametrize("field", ["name", "tenant", "storage"])
    def test_some_things_never_change(self, room: Lab, owner: Person, field: str) -> None:
        jobs.with_gateway(room.cluster)
        notebook = jobs.submitted(owner, "notebook")
        with pytest.raises(Invalid) as refused:
            services.change(owner, workload_id=notebook.pk, data={field: "other"})
        assert refused.value.errors[0].field == field

    def test_the_same_values_change_nothing(self, row: Workload, owner: Person) -> None:
        before = Workload.objects.get(pk=row.pk).changed_seq
        self.change(owner, row, cpu="2", labels={})
        assert Workload.objects.get(pk=row.pk).changed_seq == before
        assert not AuditEvent.objects.filter(verb="workload.change").exists()

    def test_a_narrower_policy_stops_no_label(self, row: Workload, owner: Person, team: Tenant) -> None:
        Policy.objects.filter(tenant=team).update(images=["vllm"])
        self.change(owner, row, labels={"cost": "c"})
        assert Workload.objects.get(pk=row.pk).labels == {"cost": "c"}

    def test_unknown_fields_and_null_are_refused(self, row: Workload, owner: Person) -> None:
        for data in ({"state": "running"}, {"labels": None}, {"description": 5}):
            with pytest.raises(Invalid):
                services.change(owner, workload_id=row.pk, data=data)

    def test_old_and_new_are_in_the_audit_log_without_values_of_variables(
        self, row: Workload, owner: Person, frozen: FrozenClock
    ) -> None:
        bring(row, Reason.STOPPED_BY_PERSON, frozen)
        self.change(owner, row, memory="16Gi", env={"A": "canary"})
        event = AuditEvent.objects.get(verb="workload.change")
        assert (event.before, event.after) == ({"memory": "8Gi"}, {"memory": "16Gi", "env": ["A"]})

    def test_a_deadline_moves_with_its_limit(self, room: Lab, owner: Person, frozen: FrozenClock) -> None:
        chat = jobs.submitted(owner, "endpoint", max_duration=60)
        transitions.stamp_run(Run.objects.get(workload=chat), admitted_at=frozen.at, started_at=None)
        bring(chat, Reason.READY, frozen)
        found = self.change(owner, chat, max_duration=600)
        assert found.deadline_at is not None
        assert (found.deadline_at - frozen.at).total_seconds() == 600
