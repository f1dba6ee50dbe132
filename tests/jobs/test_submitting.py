"""Submitting: one row, one run, one wake, one audit row, or nothing."""

from __future__ import annotations

from typing import Any

import pytest

from jobs import selectors, services
from jobs.errors import NameTaken
from jobs.models import Run, Workload
from jobs.states import State
from portal.audit.models import AuditEvent
from portal.kernel.actors import Machine, Person
from portal.kernel.errors import Conflict, Denied, Invalid, NotFound
from portal.kernel.models import FeedEntry, Work
from tenants.errors import TenantSuspended
from tenants.models import Policy, Tenant
from tests.conftest import FrozenClock
from tests.factories import jobs
from tests.factories.quotas import Lab

pytestmark = pytest.mark.django_db


def fields(error: Invalid) -> dict[str, str]:
    return {fault.field: fault.code for fault in error.errors}


def test_a_submitted_workload_has_its_first_run_a_wake_a_history_and_an_audit_row(
    owner: Person, room: Lab, frozen: FrozenClock
) -> None:
    row = jobs.submitted(owner, name="nightly")
    assert (row.state, row.reason, row.run_number) == (State.SUBMITTED, "accepted", 1)
    assert Run.objects.get(workload=row).created_at == frozen.at
    assert Work.objects.get(kind="workload", object_id=row.pk).wanted_seq == 1
    assert [entry.type for entry in FeedEntry.objects.filter(object_id=row.pk)] == ["submitted"]
    assert AuditEvent.objects.get(target_id=str(row.pk)).verb == "workload.submit"


def test_a_notebook_says_that_its_home_is_new_and_of_the_kept_one_of_its_name(
    owner: Person, room: Lab, frozen: FrozenClock
) -> None:
    jobs.with_gateway(room.cluster)

    def told() -> str:
        row = jobs.submitted(owner, "notebook")
        entry = selectors.events(owner, row.pk).get(type="home")
        Workload.objects.filter(pk=row.pk).update(state=State.DELETED, deleted_at=frozen.at)
        return selectors.sentence(entry.message, entry.params, "en")

    assert told() == "It begins with a new, empty home folder."
    frozen.move(days=2)
    assert "deleted at 2026-12-01T09:00:00Z is another: it is kept for 7 days" in told()
    frozen.move(days=8)
    assert told() == "It begins with a new, empty home folder."


def test_environment_values_stay_out_of_the_audit_log(owner: Person, room: Lab) -> None:
    row = jobs.submitted(owner, env={"WANDB_MODE": "canary-value"})
    assert "canary-value" not in str(AuditEvent.objects.get(target_id=str(row.pk)).after)
    assert selectors.workload(owner, row.pk).request.env == {"WANDB_MODE": "canary-value"}


def test_a_broken_audit_write_keeps_nothing(owner: Person, room: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(**_: Any) -> None:
        raise RuntimeError("audit is full")

    monkeypatch.setattr("jobs.services.history.audit.record", broken)
    with pytest.raises(RuntimeError):
        jobs.submitted(owner)
    assert not Workload.objects.exists()
    assert not Work.objects.exists()
    assert not FeedEntry.objects.exists()


def test_the_outsider_is_told_that_there_is_no_such_team(outsider: Person, room: Lab) -> None:
    with pytest.raises(Invalid) as refused:
        jobs.submitted(outsider)
    with pytest.raises(Invalid) as missing:
        jobs.submitted(outsider, tenant="nowhere")
    assert refused.value.errors == missing.value.errors
    assert fields(refused.value) == {"tenant": "invalid"}


def test_a_viewer_may_not_submit(viewer: Person, room: Lab) -> None:
    with pytest.raises(Denied):
        jobs.submitted(viewer)


def test_a_token_without_the_write_scope_may_not_submit(machine: Machine, room: Lab) -> None:
    reader = Machine(machine.id, machine.name, machine.tenant_id, machine.role, frozenset({"read"}))
    with pytest.raises(Denied):
        jobs.submitted(reader)
    assert jobs.submitted(machine).owner_type == "machine"


def test_a_suspended_team_starts_nothing(owner: Person, team: Tenant, room: Lab) -> None:
    Tenant.objects.filter(pk=team.pk).update(state="suspended")
    with pytest.raises(TenantSuspended):
        jobs.submitted(owner)


def test_a_name_is_held_until_its_workload_is_final(owner: Person, room: Lab) -> None:
    first = jobs.submitted(owner, name="nightly")
    with pytest.raises(NameTaken) as taken:
        jobs.submitted(owner, name="nightly")
    assert taken.value.holder == str(first.pk)
    services.delete(owner, workload_id=first.pk)
    with pytest.raises(NameTaken):
        jobs.submitted(owner, name="nightly")
    jobs.with_gateway(room.cluster)
    assert jobs.submitted(owner, "notebook", name="nightly").name == "nightly"


def test_more_than_an_empty_cohort_could_admit_is_refused_at_the_field(owner: Person, room: Lab) -> None:
    with pytest.raises(Invalid) as refused:
        jobs.submitted(owner, gpus=3)
    assert fields(refused.value) == {"gpus": "exceeds_maximum"}
    with pytest.raises(Invalid) as refused:
        jobs.submitted(owner, gpus=99999999999)
    assert fields(refused.value) == {"gpus": "exceeds_maximum"}
    with pytest.raises(Invalid) as refused:
        jobs.submitted(owner, framework="indexed", nodes=3)
    assert fields(refused.value) == {"gpus": "exceeds_maximum"}


def test_half_a_card_is_answered_with_the_slices_that_the_team_may_have(owner: Person, room: Lab) -> None:
    with pytest.raises(Invalid) as refused:
        jobs.submitted(owner, flavor="h100", gpus=0.5)
    said = refused.value.errors[0].message
    assert "h100-1g" in said
    assert "h100-3g" not in said, "of which the team has no quota"
    with pytest.raises(Invalid) as refused:
        jobs.submitted(owner, flavor="h200")
    assert "It has: cpu, h100, h100-1g." in refused.value.errors[0].message


def test_notebooks_need_a_gateway_that_checks_who_opens_them(owner: Person, room: Lab) -> None:
    with pytest.raises(Invalid) as refused:
        jobs.submitted(owner, "notebook")
    assert fields(refused.value) == {"ide": "variant_unavailable"}
    jobs.with_gateway(room.cluster)
    assert jobs.submitted(owner, "notebook").kind == "notebook"


class TestLimitOfLiveWorkloads:
    @pytest.fixture(autouse=True)
    def limit(self, team: Tenant, room: Lab) -> None:
        Policy.objects.filter(tenant=team).update(max_live=1)

    def test_submit_dry_run_and_start_refuse_alike(self, owner: Person, machine: Machine, manager: Person) -> None:
        jobs.submitted(owner, name="one")
        refusals = []
        for actor in (owner, machine, manager):
            with pytest.raises(Conflict) as refused:
                jobs.submitted(actor, name="two")
            refusals.append((refused.value.code, str(refused.value.message)))
        with pytest.raises(Conflict) as refused:
            services.preview(owner, kind="training", data=jobs.request(name="two"))
        refusals.append((refused.value.code, str(refused.value.message)))
        assert len(set(refusals)) == 1
        assert refusals[0][0] == "max_live"

    def test_a_lower_limit_stops_nobody_but_refuses_the_next(self, owner: Person, team: Tenant) -> None:
        row = jobs.submitted(owner, name="one")
        Policy.objects.filter(tenant=team).update(max_live=0)
        assert selectors.workload(owner, row.pk).state == State.SUBMITTED
        with pytest.raises(Conflict):
            jobs.submitted(owner, name="two")


class TestDryRun:
    def test_it_writes_nothing_and_shows_what_would_be_made(self, owner: Person, room: Lab) -> None:
        found = services.preview(owner, kind="training", data=jobs.request())
        assert found.valid
        assert found.preview is None
        assert [manifest["kind"] for manifest in found.manifests] == ["Job"]
        assert not Workload.objects.exists()

    def test_what_can_never_run_is_said_to_be_so(self, owner: Person, room: Lab) -> None:
        found = services.preview(owner, kind="training", data=jobs.request(gpus=50))
        assert found.preview is not None
        assert found.preview["verdict"] == "never"

    def test_every_other_fault_is_the_real_calls(self, owner: Person, room: Lab) -> None:
        with pytest.raises(Invalid) as refused:
            services.preview(owner, kind="training", data=jobs.request(gpus=50, cpu="4 cores"))
        assert fields(refused.value) == {"gpus": "exceeds_maximum", "cpu": "invalid"}


def test_the_outsider_sees_nothing_of_it(owner: Person, outsider: Person, administrator: Person, room: Lab) -> None:
    row = jobs.submitted(owner)
    for actor in (outsider, administrator):
        assert not selectors.workloads(actor).exists()
        for look in (selectors.workload, selectors.events, selectors.runs, selectors.manifests, selectors.explain):
            with pytest.raises(NotFound):
                look(actor, row.pk)
        for command in (services.stop, services.start, services.delete):
            with pytest.raises(NotFound):
                command(actor, workload_id=row.pk)
