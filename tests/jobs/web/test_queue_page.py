"""The queue page: who waits, in which order, how much of it the reader may know, and managers who reorder."""

from __future__ import annotations

import re

import pytest

from jobs import selectors
from jobs.models import Workload
from portal.kernel.actors import Person
from quotas.models import Cohort, PriorityClass
from tenants.models import Tenant
from tests.factories import quotas as quota_rows
from tests.factories import tenants as people
from tests.factories.quotas import Lab
from tests.jobs.stage import Stage

pytestmark = pytest.mark.django_db
LONG = {"TURNO_SIM_SECONDS": "600"}


@pytest.fixture
def neighbours(stage: Stage, room: Lab, other_team: Tenant) -> Tenant:
    """Another team of the cohort, with a card of its own."""
    quota_rows.room_for(other_team, room)
    stage.furnish()
    return other_team


def job(stage: Stage, actor: Person, name: str, **changes: object) -> Workload:
    stage.clock.move(seconds=1)  # no two of them at the same moment
    return stage.submit(actor, name=name, flavor="h100", env=LONG, **changes)


@pytest.fixture
def waiting(stage: Stage, owner: Person, outsider: Person, neighbours: Tenant) -> list[Workload]:
    """Each team has one that runs; behind it wait `mine`, then `theirs`, and `humble` with a lower priority."""
    job(stage, owner, "runs")
    job(stage, outsider, "also-runs", tenant="vision")
    return [
        job(stage, owner, "humble", priority="low"),
        job(stage, owner, "mine"),
        job(stage, outsider, "theirs", tenant="vision"),
    ]


def text(actor: Person, path: str = "/queue/") -> str:
    answer = people.signed_in(actor).get(path)
    assert answer.status_code == 200
    return answer.content.decode()


def told(actor: Person) -> list[tuple[str, int, int]]:
    (line,) = selectors.lines(actor)
    return [(one.workload.name if one.workload else one.team, one.place, one.queue_place) for one in line.places]


def test_the_order_is_that_in_which_they_are_tried(owner: Person, waiting: list[Workload]) -> None:
    assert told(owner) == [("mine", 1, 1), ("another team", 2, 1), ("humble", 3, 2)]
    (line,) = selectors.lines(owner)
    assert [(one.gpus, one.flavor, one.priority_name) for one in line.places] == [
        (1, "h100", "normal"),
        (1, "h100", "normal"),
        (1, "h100", "low"),
    ]
    assert (line.cohort, line.cluster, line.length, line.left_out) == ("lab", "demo", 3, 0)


def test_each_team_sees_its_own_names_and_nothing_of_the_other(
    owner: Person, outsider: Person, waiting: list[Workload]
) -> None:
    assert told(outsider) == [("another team", 1, 1), ("theirs", 2, 1), ("another team", 3, 2)]
    page = text(outsider)
    _, mine, theirs = waiting
    assert str(theirs.pk) in page
    for hidden in ("mine", "humble", "olga", ">data<", str(mine.pk), mine.pk.hex[-10:]):
        assert hidden not in page.split('id="lines"')[1], hidden


def test_a_cohort_may_show_the_teams_and_still_no_names(owner: Person, waiting: list[Workload]) -> None:
    Cohort.objects.update(show_teams=True)
    assert [name for name, *_ in told(owner)] == ["mine", "vision", "humble"]
    assert "theirs" not in text(owner)


def test_an_administrator_sees_the_teams_but_no_ones_work(administrator: Person, waiting: list[Workload]) -> None:
    assert [name for name, *_ in told(administrator)] == ["data", "vision", "data"]
    assert "mine" not in text(administrator)


def test_somebody_without_a_team_is_told_what_to_do(waiting: list[Workload]) -> None:
    nobody = people.person(people.user("nadia"))
    page = text(nobody)
    assert "You are in no team yet" in page
    assert "h100" not in page


def test_an_empty_queue_says_so(stage: Stage, owner: Person) -> None:
    page = text(owner)
    assert "Nobody waits" in page
    assert "Cluster demo, as it was" in page


def test_a_cluster_that_was_never_read_promises_nothing(room: Lab, owner: Person) -> None:
    assert "Not known yet" in text(owner)


def test_managers_change_the_order_of_their_own_team(stage: Stage, manager: Person, waiting: list[Workload]) -> None:
    humble = waiting[0]
    page = text(manager)
    assert page.count("<select") == 2
    client = people.signed_in(manager)
    answer = client.post("/queue/priority/", {"workload": str(humble.pk), "priority": "normal"}, follow=True)
    assert answer.redirect_chain == [("/queue/", 302)]
    assert "humble has priority normal now" in answer.content.decode()
    stage.run(2)
    assert [name for name, *_ in told(manager)] == ["humble", "mine", "another team"]
    (line,) = selectors.lines(manager)
    assert line.places[0].priority_name == "normal"


def test_with_scripts_the_answer_is_the_fragment(manager: Person, waiting: list[Workload]) -> None:
    answer = people.signed_in(manager).post(
        "/queue/priority/", {"workload": str(waiting[0].pk), "priority": "normal"}, HTTP_HX_REQUEST="true"
    )
    markup = answer.content.decode()
    assert markup.strip().startswith('<div class="stack live-region" id="lines"')
    assert "humble has priority normal now" in markup


def test_members_and_viewers_read_only(owner: Person, viewer: Person, waiting: list[Workload]) -> None:
    for reader in (owner, viewer):
        assert "<select" not in text(reader)


@pytest.mark.parametrize(("who", "status"), [("outsider", 404), ("viewer", 302), ("teammate", 302)])
def test_a_post_without_the_right_changes_nothing(
    request: pytest.FixtureRequest, waiting: list[Workload], who: str, status: int
) -> None:
    client = people.signed_in(request.getfixturevalue(who))
    answer = client.post("/queue/priority/", {"workload": str(waiting[0].pk), "priority": "normal"})
    assert answer.status_code == status
    waiting[0].refresh_from_db()
    assert waiting[0].priority == "low"


@pytest.mark.parametrize("sent", [{"workload": "x"}, {}, {"workload": "00000000-0000-0000-0000-000000000000"}])
def test_what_is_no_workload_is_not_found(manager: Person, sent: dict[str, str], stage: Stage) -> None:
    assert people.signed_in(manager).post("/queue/priority/", sent).status_code == 404


def test_an_unknown_priority_is_refused_in_words(manager: Person, waiting: list[Workload]) -> None:
    client = people.signed_in(manager)
    answer = client.post("/queue/priority/", {"workload": str(waiting[0].pk), "priority": "highest"}, follow=True)
    assert "notice-error" in answer.content.decode()


def test_a_poll_answers_nothing_until_something_changed(stage: Stage, owner: Person, waiting: list[Workload]) -> None:
    poll = re.search(r'hx-get="(/queue/lines/[^"]+)"', text(owner))
    assert poll
    client = people.signed_in(owner)
    assert client.get(poll[1]).status_code == 204
    job(stage, owner, "another")
    fragment = client.get(poll[1]).content.decode()
    assert "another</a>" in fragment
    assert "<html" not in fragment


def test_a_long_queue_shows_its_head_and_all_of_ones_own(
    monkeypatch: pytest.MonkeyPatch, owner: Person, waiting: list[Workload]
) -> None:
    monkeypatch.setattr("jobs.selectors.queueing.MOST_SHOWN", 1)
    assert [name for name, *_ in told(owner)] == ["mine", "humble"]
    assert "1 more waits behind these." in text(owner)
    whole = text(owner, "/queue/?whole=1")
    assert whole.count("<tr") == 4
    assert "behind these" not in whole
    assert "whole=1" in whole  # its poll asks for the same


def test_the_number_of_queries_does_not_grow_with_what_waits(
    stage: Stage, manager: Person, waiting: list[Workload], django_assert_num_queries
) -> None:
    client = people.signed_in(manager)
    client.get("/queue/")
    with django_assert_num_queries(16):
        client.get("/queue/")
    for n in range(5):
        job(stage, manager, f"more-{n}")
    PriorityClass.objects.create(cluster=stage.cluster, name="urgent", value=5000)
    with django_assert_num_queries(20):  # what changed is read again, however much waits
        client.get("/queue/")


def test_the_api_answers_the_same(owner: Person, outsider: Person, waiting: list[Workload]) -> None:
    found = people.signed_in(owner).get("/api/v1/queue/").json()["results"]
    (line,) = found
    assert [(one["place"], one["queue_place"], one["team"]) for one in line["waiting"]] == [
        (1, 1, "data"),
        (2, 1, "another team"),
        (3, 2, "data"),
    ]
    assert line["waiting"][0]["workload"] == {
        "id": str(waiting[1].pk),
        "kind": "training",
        "name": "mine",
        "owner": "olga",
    }
    assert line["waiting"][1]["workload"] is None
    assert line["waiting"][2]["waiting_s"] > 0
    assert line["as_of"]


def test_spanish_is_complete(owner: Person, waiting: list[Workload]) -> None:
    client = people.signed_in(owner)
    client.post("/preferences/", {"language": "es"})
    page = client.get("/queue/").content.decode()
    assert "otro equipo" in page
    assert "another team" not in page
