"""When it will likely start: kept forecasts, what came of them, and what is said while nobody can know."""

from __future__ import annotations

from datetime import timedelta
from uuid import uuid4

import pytest
from django.test import Client

from jobs import selectors, services
from jobs.models import Workload
from portal.kernel.actors import Person
from portal.telemetry import metrics
from quotas import planning
from quotas.models import Allocation, Forecast
from quotas.planning import forecast
from quotas.services import forecasting
from tenants.models import User
from tests.factories import jobs
from tests.jobs.stage import Stage

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def no_rest(monkeypatch: pytest.MonkeyPatch) -> None:
    """Rounds are real and the clock is not: on a busy machine a round's rest outlasts what a test lets pass."""
    monkeypatch.setattr(forecasting, "REST", 0)


LONG = {"TURNO_SIM_SECONDS": "6000"}


def job(stage: Stage, actor: Person, name: str, **changes: object) -> Workload:
    return stage.submit(actor, name=name, flavor="h100", gpus=1, **{"env": LONG, **changes})


def past_jobs(stage: Stage, owner: Person, seconds: list[int]) -> None:
    """Jobs of this kind that ran alone before, as the ledger has them."""
    row = job(stage, owner, "past", env={"TURNO_SIM_SECONDS": "1"})
    stage.run(8)
    held = Allocation.objects.get(workload_id=row.pk)
    for number, length in enumerate(seconds):
        held.pk, held.kueue_uid = None, f"past-{number}"
        held.admitted_at = stage.clock.at - timedelta(days=1, hours=number)
        held.released_at = held.admitted_at + timedelta(seconds=length)
        held.save(force_insert=True)


def test_with_history_it_says_when(stage: Stage, owner: Person) -> None:
    past_jobs(stage, owner, [600 + 10 * n for n in range(30)])
    job(stage, owner, "first")
    stage.run(60)
    row = job(stage, owner, "second")
    stage.run(3)
    assert services.forecast_all() == 1
    likely = planning.latest([row.pk])[row.pk]
    assert likely.basis == "history"
    assert likely.p50 is not None
    assert likely.p90 is not None
    assert 500 < (likely.p50 - stage.clock.at).total_seconds() < 760
    assert likely.p50 < likely.p90 < stage.clock.at + timedelta(seconds=1000)


def test_without_history_or_limits_it_cannot_know(stage: Stage, owner: Person) -> None:
    job(stage, owner, "first")
    row = job(stage, owner, "second")
    stage.run(3)
    services.forecast_all()
    likely = planning.latest([row.pk])[row.pk]
    assert (likely.p50, likely.p90, likely.basis, likely.why) == (None, None, "none", "lengths_unknown")


def test_time_limits_alone_bound_it(stage: Stage, owner: Person) -> None:
    job(stage, owner, "first", max_duration=3600)
    row = job(stage, owner, "second")
    stage.run(3)
    services.forecast_all()
    likely = planning.latest([row.pk])[row.pk]
    assert likely.basis == "declared"
    assert likely.p90 is not None
    assert likely.p90 <= stage.clock.at + timedelta(seconds=3602)


def test_a_start_is_its_outcome(stage: Stage, owner: Person) -> None:
    first = job(stage, owner, "first", max_duration=3600)
    row = job(stage, owner, "second")
    stage.run(3)
    services.forecast_all()
    services.stop(owner, workload_id=first.pk)
    stage.run(10)
    services.forecast_all()
    assert planning.latest([row.pk]) == {}
    kept = Forecast.objects.get(workload_id=row.pk, ordinal=0)
    held = Allocation.objects.get(workload_id=row.pk)
    assert (kept.outcome, kept.started_at) == ("started", held.admitted_at)


def test_who_leaves_the_queue_has_no_start(stage: Stage, owner: Person) -> None:
    job(stage, owner, "first", max_duration=3600)
    row = job(stage, owner, "second")
    stage.run(3)
    services.forecast_all()
    services.stop(owner, workload_id=row.pk)
    stage.run(70, step=10)
    services.forecast_all()
    kept = Forecast.objects.get(workload_id=row.pk)
    assert (kept.outcome, kept.started_at) == ("left", None)


def test_the_answer_says_when_and_how_past_forecasts_did(stage: Stage, owner: Person) -> None:
    past_jobs(stage, owner, [600 + 10 * n for n in range(30)])
    first = job(stage, owner, "first")
    early, late = job(stage, owner, "second"), job(stage, owner, "third")
    stage.run(3)
    services.forecast_all()
    found = selectors.explain(owner, early.pk)
    assert stage.clock.at < found["likely_start"]["p50"] < found["likely_start"]["p90"]
    assert "in 9 of 10 cases" in found["forecast"]["message"]
    assert found["forecast"]["past"] == {"kept": 0, "within": 0}
    services.stop(owner, workload_id=first.pk)
    stage.run(10)
    services.forecast_all()
    past = selectors.explain(owner, late.pk)["forecast"]["past"]
    assert past == {"kept": 1, "within": 0}


def test_a_request_hears_when_it_would_start(stage: Stage, owner: Person) -> None:
    past_jobs(stage, owner, [600 + 10 * n for n in range(30)])
    job(stage, owner, "first")
    stage.run(3)
    services.forecast_all()
    body = jobs.request("training", name="second", flavor="h100", gpus=1)
    found = services.preview(owner, kind="training", data=body).preview
    assert found is not None
    assert found["verdict"] == "waits"
    assert 500 < (found["likely_start"]["p50"] - stage.clock.at).total_seconds() < 900
    again = services.preview(owner, kind="training", data=body).preview
    assert again is not None
    assert again["likely_start"] == found["likely_start"]


def test_a_request_hears_why_nobody_can_know(stage: Stage, owner: Person) -> None:
    job(stage, owner, "first")
    stage.run(3)
    body = jobs.request("training", name="second", flavor="h100", gpus=1)
    for code in ("not_yet", "lengths_unknown"):
        found = services.preview(owner, kind="training", data=body).preview
        assert found is not None
        assert (found["likely_start"], found["forecast"]["code"]) == (None, code)
        assert found["forecast"]["message"]
        services.forecast_all()


def test_what_starts_now_has_no_forecast(stage: Stage, owner: Person) -> None:
    found = services.preview(owner, kind="training", data=jobs.request("training")).preview
    assert found is not None
    assert (found["likely_start"], found["forecast"]) == (None, None)


def test_the_page_tells_it(stage: Stage, owner: Person, client: Client) -> None:
    past_jobs(stage, owner, [600 + 10 * n for n in range(30)])
    job(stage, owner, "first")
    row = job(stage, owner, "second")
    stage.run(3)
    services.forecast_all()
    client.force_login(User.objects.get(pk=owner.id))
    page = client.get(f"/workloads/{row.pk}/").content.decode()
    assert 'data-likely="known"' in page
    assert "in 9 of 10 cases" in page


def test_the_queue_page_says_that_it_cannot_be_known_yet(stage: Stage, owner: Person, client: Client) -> None:
    job(stage, owner, "first")
    job(stage, owner, "second")
    stage.run(3)
    client.force_login(User.objects.get(pk=owner.id))
    assert "cannot be known yet" not in client.get("/queue/").content.decode()
    services.forecast_all()
    assert "cannot be known yet" in client.get("/queue/").content.decode()


def test_the_share_within_the_band_is_a_metric(stage: Stage, owner: Person) -> None:
    first = job(stage, owner, "first", max_duration=3600)
    job(stage, owner, "second")
    stage.run(3)
    services.forecast_all()
    services.stop(owner, workload_id=first.pk)
    stage.run(10)
    services.forecast_all()
    assert forecasting.calibrate() == 1
    figures = dict(planning.figures())
    assert figures["demo", "starts"] == 1
    assert figures["demo", "within"] in (0.0, 1.0)
    assert b'turno_forecasts{cluster="demo",figure="by_p90"}' in metrics.render()[0]


def test_behind_a_queue_the_kept_forecast_of_the_last_speaks(stage: Stage, owner: Person) -> None:
    past_jobs(stage, owner, [600 + 10 * n for n in range(30)])
    job(stage, owner, "first")
    row = job(stage, owner, "second")
    stage.run(3)
    services.forecast_all()
    body = jobs.request("training", name="third", flavor="h100", gpus=1)
    found = services.preview(owner, kind="training", data=body).preview
    assert found is not None
    assert found["likely_start"]["p50"] == planning.latest([row.pk])[row.pk].p50


def test_no_request_plays_the_queue(stage: Stage, owner: Person, monkeypatch: pytest.MonkeyPatch) -> None:
    past_jobs(stage, owner, [600 + 10 * n for n in range(30)])
    job(stage, owner, "first")
    stage.run(3)
    services.forecast_all()
    monkeypatch.setattr(forecast, "played", None)
    body = jobs.request("training", name="second", flavor="h100", gpus=1)
    found = services.preview(owner, kind="training", data=body).preview
    assert found is not None
    assert found["likely_start"] is not None


def test_late_starts_make_the_next_band_wider(stage: Stage, owner: Person) -> None:
    job(stage, owner, "first", max_duration=3600)
    row = job(stage, owner, "second")
    stage.run(3)
    services.forecast_all()
    kept = Forecast.objects.get(workload_id=row.pk)
    assert kept.p50 is not None
    assert kept.p90 is not None
    assert (kept.played_p10, kept.played_p90) == (kept.p10, kept.p90)
    late = {"outcome": "started", "started_at": kept.p50 + 2 * (kept.p90 - kept.p50), "settled_at": stage.clock.at}
    past = [Forecast(**{**_values(kept), **late}) for _ in range(60)]
    Forecast.objects.bulk_create(past)
    stage.clock.move(seconds=61)
    services.forecast_all()
    found = Forecast.objects.filter(workload_id=row.pk, outcome="").latest("ordinal")
    assert found.p50 is not None
    assert found.p90 is not None
    assert found.played_p90 is not None
    assert found.p90 - found.p50 > 1.4 * (found.played_p90 - found.p50)


def _values(row: Forecast) -> dict[str, object]:
    fields = [field.attname for field in Forecast._meta.fields if field.name not in ("id", "workload_id")]
    return {name: getattr(row, name) for name in fields} | {"workload_id": uuid4()}


def test_rounds_keep_what_moved_and_confirm_the_rest(stage: Stage, owner: Person) -> None:
    first = job(stage, owner, "first", max_duration=3600)
    row = job(stage, owner, "second")
    stage.run(3)
    services.forecast_all()
    stage.run(61, step=20)
    services.forecast_all()
    (kept,) = Forecast.objects.filter(workload_id=row.pk)
    assert kept.confirmed_at > kept.made_at
    stage.clock.move(seconds=400)
    Workload.objects.filter(pk=first.pk).update(spec={**first.spec, "max_duration": 36_000})
    services.forecast_all()
    assert Forecast.objects.filter(workload_id=row.pk).count() == 2
    latest = planning.latest([row.pk])[row.pk]
    assert latest.p90 is not None
    assert kept.p90 is not None
    assert latest.p90 > kept.p90


def test_nothing_is_worked_out_again_while_nothing_moves(stage: Stage, owner: Person) -> None:
    job(stage, owner, "first", max_duration=3600)
    job(stage, owner, "second")
    stage.run(3)
    assert services.forecast_all() == 1
    assert services.forecast_all() == 0
    stage.clock.move(seconds=61)
    assert services.forecast_all() == 1


def test_the_first_that_says_something_is_the_first(stage: Stage, owner: Person) -> None:
    first = job(stage, owner, "first")
    row = job(stage, owner, "second")
    stage.run(3)
    services.forecast_all()
    assert Forecast.objects.get(workload_id=row.pk).p50 is None
    Workload.objects.filter(pk=first.pk).update(spec={**first.spec, "max_duration": 3600})
    stage.clock.move(seconds=61)
    services.forecast_all()
    kept = Forecast.objects.get(workload_id=row.pk)
    assert (kept.ordinal, kept.made_at) == (0, stage.clock.at)
    assert kept.p50 is not None
