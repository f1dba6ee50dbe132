"""The preview of a request, in each of its five verdicts, and what it offers instead."""

from __future__ import annotations

from typing import Any

import pytest

from jobs import services
from portal.kernel.actors import Person
from portal.kernel.models import FeedEntry
from quotas.models import Cohort, Quota
from tenants.models import Tenant
from tests.factories import jobs
from tests.factories import quotas as quota_rows
from tests.factories.quotas import Lab
from tests.jobs.stage import Stage

pytestmark = pytest.mark.django_db
LONG = {"TURNO_SIM_SECONDS": "600"}


def preview(actor: Person, **changes: Any) -> dict[str, Any]:
    kind = changes.pop("kind", "training")
    found = services.preview(actor, kind=kind, data=jobs.request(kind, **changes)).preview
    assert found is not None
    return found


@pytest.fixture
def lender(stage: Stage, room: Lab, other_team: Tenant) -> Tenant:
    """Another team of the cohort with a whole card and two slices; the first team may borrow now."""
    quota_rows.room_for(other_team, room, borrowing=None)
    Quota.objects.update(borrowing_limit=None)
    stage.furnish()
    return other_team


def test_what_fits_starts_now(stage: Stage, owner: Person) -> None:
    found = preview(owner, flavor="h100", gpus=1)
    assert (found["verdict"], found["position"], found["alternatives"]) == ("starts_now", None, [])
    assert found["as_of"] is not None
    assert not FeedEntry.objects.filter(type="submitted").exists()


def test_nothing_is_foretold_before_a_new_quota_has_reached_the_cluster(
    stage: Stage, outsider: Person, room: Lab, other_team: Tenant
) -> None:
    quota_rows.room_for(other_team, room)
    asked = jobs.request("training", tenant=other_team.slug, flavor="cpu", gpus=0)
    assert services.preview(outsider, kind="training", data=asked).preview is None
    stage.furnish()
    assert preview(outsider, tenant=other_team.slug, flavor="cpu", gpus=0)["verdict"] == "starts_now"


def test_what_does_not_fit_waits_at_its_place_and_hears_what_would_start(stage: Stage, owner: Person) -> None:
    for name in ("first", "second"):
        stage.submit(owner, name=name, env=LONG, flavor="h100", gpus=1)
    found = preview(owner, name="third", flavor="h100", gpus=1)
    assert (found["verdict"], found["position"]) == ("waits", 2)
    assert {"change": {"flavor": "h100-1g"}, "verdict": "starts_now"} in found["alternatives"]
    assert len(found["alternatives"]) <= 3


def test_what_the_team_does_not_own_is_borrowed_from_somebody(stage: Stage, owner: Person, lender: Tenant) -> None:
    stage.submit(owner, name="first", env=LONG, flavor="h100", gpus=1)
    found = preview(owner, name="second", flavor="h100", gpus=1)
    assert found["verdict"] == "borrows"
    assert found["borrows"] == [{"team": "another team", "gpus": 1}]
    assert {one["verdict"] for one in found["alternatives"]} == {"starts_now"}
    Cohort.objects.update(show_teams=True)
    assert preview(owner, name="second", flavor="h100")["borrows"] == [{"team": "vision", "gpus": 1}]


def test_lower_priorities_would_be_taken_out(stage: Stage, owner: Person) -> None:
    stage.submit(owner, name="humble", env=LONG, flavor="h100", gpus=1, priority="low")
    found = preview(owner, name="urgent", flavor="h100", gpus=1, priority="normal")
    assert found["verdict"] == "preempts"
    assert found["preempts"] == [{"team": "data", "gpus": 1, "priority": 10}]


def test_what_no_empty_cohort_could_admit_can_never_run(stage: Stage, owner: Person) -> None:
    found = preview(owner, flavor="h100", gpus=3)
    assert (found["verdict"], found["limit"]["gpus"]) == ("never", 1)
    assert found["limit"]["message"]
    assert found["alternatives"] == [{"change": {"gpus": 1}, "verdict": "starts_now"}]


def test_a_mirror_that_knows_nothing_promises_nothing(room: Lab, owner: Person) -> None:
    assert services.preview(owner, kind="training", data=jobs.request("training")).preview is None


def test_the_answer_is_what_then_happens(stage: Stage, owner: Person, lender: Tenant) -> None:
    """Whatever was foreseen comes true when the same request is sent at once."""
    for name, flavor in (("a", "h100"), ("b", "h100"), ("c", "h100"), ("d", "h100-1g")):
        foreseen = preview(owner, name=name, flavor=flavor)["verdict"]
        row = stage.submit(owner, name=name, flavor=flavor, env=LONG)
        stage.run(2)
        assert stage.now(row).quota_held is (foreseen in ("starts_now", "borrows")), (name, foreseen)
