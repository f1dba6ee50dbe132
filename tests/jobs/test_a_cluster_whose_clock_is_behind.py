"""The cluster's clock is 90 s behind Turno's: spans come from stamps of one clock, and none is negative."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from django.test import Client

from jobs.models import Run, Workload
from portal.kernel.actors import Person
from portal.kernel.models import FeedEntry
from quotas.models import Allocation
from tenants.models import User
from tests.factories import tenants as people
from tests.jobs.stage import Stage

pytestmark = pytest.mark.django_db
SLICES = {"flavor": "h100-1g", "gpus": 2}
LONG = {"TURNO_SIM_SECONDS": "900000"}
# A name may well end in such letters: what stands before the sign tells.
NEGATIVE = re.compile(r"(?<![\w-])[-−–]\s?\d+\s?(?:s|min|h|d)\b")
STAMP = re.compile(r"20\d\d-\d\d-\d\dT[\d:.]+Z?")


@pytest.fixture(params=[-90, 90], ids=["behind", "before"])
def off(request: pytest.FixtureRequest, stage: Stage) -> int:
    stage.control("PUT", "/clock", {"offset_seconds": request.param})
    return int(request.param)


def get(owner: Person, path: str) -> Any:
    return Client().get(f"/api/v1{path}", headers=people.bearer(owner)).json()


def page(owner: Person, path: str, **cookies: str) -> str:
    client = people.signed_in(owner)
    client.cookies.load(cookies)
    answer = client.get(path, headers={"Accept-Language": "en"})
    assert answer.status_code == 200
    return answer.content.decode()


def shown(html: str) -> str:
    return " ".join(re.sub(r"<[^>]+>", " ", html).split())


def test_nothing_ends_before_it_begins(stage: Stage, owner: Person, off: int) -> None:
    row = stage.submit(owner, env={"TURNO_SIM_SECONDS": "5"})
    stage.run(15)
    assert stage.reason(row) == ("succeeded", "completed")
    run = Run.objects.get(workload=row)
    assert run.admitted_at <= run.started_at <= run.finished_at
    assert run.finished_at - run.started_at < timedelta(seconds=20)
    for one in Allocation.objects.filter(workload_id=row.pk):
        assert one.admitted_at <= one.released_at
    assert not NEGATIVE.search(shown(page(owner, f"/workloads/{row.pk}/")))
    assert not NEGATIVE.search(shown(page(owner, "/workloads/")))


def test_who_waits_and_who_holds_since_when(stage: Stage, owner: Person, teammate: Person, off: int) -> None:
    stage.submit(owner, name="holds", env=LONG, **SLICES)
    stage.run(8)
    stage.submit(owner, name="first", env=LONG, **SLICES)
    second = stage.submit(teammate, name="second", env=LONG, **SLICES)
    stage.run(2)
    said = get(teammate, f"/training-jobs/{second.pk}/explain/")
    assert [one["waiting_s"] >= 0 for one in said["ahead"]] == [True]
    assert all(one["since"].endswith("Z") for one in said["holders"])
    for path in (f"/workloads/{second.pk}/", "/queue/", "/"):
        assert not NEGATIVE.search(shown(page(teammate, path))), path


def test_an_end_that_is_stamped_before_the_start_lasted_nothing(stage: Stage, owner: Person) -> None:
    row = stage.submit(owner, env=LONG)
    stage.run(8)
    stage.control("PUT", "/clock", {"offset_seconds": -90})
    stage.control("POST", f"/pods/turno-data/{stage.names('Pod')[0]}/end", {"exit": "0"})
    stage.run(5)
    assert stage.reason(row) == ("succeeded", "completed")
    run = Run.objects.get(workload=row)
    assert run.started_at == run.finished_at
    assert not NEGATIVE.search(shown(page(owner, f"/workloads/{row.pk}/")))


def test_three_days_and_eighteen_hours(stage: Stage, owner: Person) -> None:
    row = stage.submit(owner, "notebook")
    stage.run(8)
    stage.clock.move(days=3, hours=18, minutes=7)
    stage.settle()
    assert "3 d 18 h" in shown(page(owner, f"/workloads/{row.pk}/")).replace("\u00a0", " ")


def test_every_time_is_in_the_persons_zone_and_named_also_inside_of_sentences(stage: Stage, owner: Person) -> None:
    User.objects.filter(pk=owner.id).update(time_zone="America/Mexico_City")
    row = stage.submit(owner, "notebook")
    stage.run(8)
    stage.control("PATCH", "/nodes/gpu-1", {"kubelet": "stopped"})
    stage.run(60, step=5)
    assert stage.reason(row) == ("starting", "node_state_unknown")
    html = page(owner, f"/workloads/{row.pk}/", turno_zone="Asia%2FKolkata")
    text = shown(html)
    assert re.search(r"has not answered since 1 Dec 03:0\d CST", text)
    assert "IST" not in text
    assert not STAMP.search(text)
    assert len(re.findall(r"\b03:0\d(?::\d\d)? CST", text)) > 5
    assert not re.findall(r"\b\d\d:\d\d(?::\d\d)?(?! CST)(?!\d|:)", text)
    said = get(owner, f"/notebooks/{row.pk}/")
    for field in ("created_at", "queued_at", "started_at", "as_of"):
        assert re.fullmatch(r"2026-12-01T09:\d\d:\d\d(\.\d+)?Z", said[field]), field
    for event in get(owner, f"/notebooks/{row.pk}/events/")["results"]:
        assert event["at"].endswith("Z")


def test_the_night_the_clocks_go_back(stage: Stage, owner: Person) -> None:
    User.objects.filter(pk=owner.id).update(time_zone="Europe/Madrid")
    row = stage.submit(owner, env=LONG)
    start = datetime(2026, 10, 25, 2, 30, tzinfo=ZoneInfo("Europe/Madrid"))
    end = datetime(2026, 10, 25, 2, 10, fold=1, tzinfo=ZoneInfo("Europe/Madrid"))
    times = {"started_at": start.astimezone(UTC), "finished_at": end.astimezone(UTC)}
    Workload.objects.filter(pk=row.pk).update(state="succeeded", reason="completed", **times)
    Run.objects.filter(workload=row).update(ended_at=times["finished_at"], outcome="succeeded", **times)
    text = shown(page(owner, f"/workloads/{row.pk}/")).replace("\u00a0", " ")
    assert "25 Oct 02:30 CEST" in text
    assert "25 Oct 02:10 CET" in text
    assert "40 min" in text


def test_history_of_two_clocks_is_in_the_order_of_what_was_learnt(stage: Stage, owner: Person, off: int) -> None:
    row = stage.submit(owner, env={"TURNO_SIM_SECONDS": "5"})
    stage.run(15)
    seqs = list(FeedEntry.objects.filter(object_id=row.pk).order_by("seq").values_list("seq", flat=True))
    events = get(owner, f"/training-jobs/{row.pk}/events/?order=created_at")["results"]
    assert [one["seq"] for one in events] == sorted(one["seq"] for one in events)
    assert len(seqs) >= len(events) > 3
