"""What the answers cost while a thousand wait, in processor time: explain, the queue, a preview, a round of forecasts.

    python -m tests.bench.answers [WAITING]

`again`: nothing has changed on the cluster since the last answer; `changed`: one Kueue Workload has; `first`: the
process has answered nothing before. Over HTTP means Django's own test client, pages rendered. On SQLite, in a folder
that is gone afterwards.
"""

from __future__ import annotations

import os
import statistics
import sys
import tempfile
from collections.abc import Callable
from time import process_time
from typing import TYPE_CHECKING

import django
from django.core.management import call_command

if TYPE_CHECKING:
    from tests.bench.crowd import Crowd

ROUNDS = 15
GOAL_AGAIN_MS, GOAL_CHANGED_MS, GOAL_ROUND_S = 60.0, 150.0, 2.5
Question = Callable[[], object]


def show(title: str, unit: str, figure: float, goal: float) -> None:
    """A figure beside its goal; a ratio of at most 1 is within it."""
    print(f"{title:<44} {figure:7.1f} {unit:<3} goal {goal:5.1f} {unit:<3} ratio {figure / goal:5.2f}", flush=True)


def spent(question: Question, before: Question = lambda: None) -> float:
    """The median of milliseconds of processor time."""
    times = []
    for _ in range(ROUNDS):
        before()
        start = process_time()
        question()
        times.append(1000 * (process_time() - start))
    return statistics.median(times)


def questions_about(crowd: Crowd) -> dict[str, Question]:
    """What people ask while the last of the first team waits."""
    from jobs import selectors, services  # noqa: PLC0415  needs Django's registry
    from tests.factories import tenants as people  # noqa: PLC0415

    last = next(row for row in reversed(crowd.waiting) if row.tenant_id == crowd.teams[0].pk)
    browser = people.signed_in(crowd.person)
    browser.defaults["HTTP_HOST"] = "127.0.0.1"

    def get(path: str) -> None:
        assert browser.get(path).status_code == 200, path

    body = {"tenant": last.tenant.slug, "name": "asking", "flavor": "h100", "gpus": 2, "cpu": "1", "memory": "1Gi"}
    body |= {"image": "pytorch", "framework": "job", "command": ["true"]}
    version = selectors.lines_version(crowd.person)
    return {
        "explain": lambda: selectors.explain(crowd.person, last.pk),
        "explain over HTTP": lambda: get(f"/api/v1/training-jobs/{last.pk}/explain/"),
        "queue": lambda: selectors.lines(crowd.person),
        "queue page": lambda: get("/queue/"),
        "queue page's poll": lambda: browser.get(f"/queue/lines/?version={version}"),
        "preview": lambda: services.preview(crowd.person, kind="training", data=body),
        "workload page": lambda: get(f"/workloads/{last.pk}/"),
    }


def bench(waiting: int) -> None:
    from quotas import planning  # noqa: PLC0415  needs Django's registry
    from quotas.planning.mirrored import Memory  # noqa: PLC0415
    from tests.bench.crowd import Crowd  # noqa: PLC0415

    crowd = Crowd(waiting)
    pk = crowd.cluster.pk
    state = planning.standing(pk)
    waits = len([one for one in state.members.values() if one.held_since is None])
    print(f"{waits:,} wait, {len(state.members) - waits} hold quota")
    show("where the cluster stands, first", "ms", spent(lambda: Memory().standing(pk)), GOAL_CHANGED_MS)
    show("where it stands, changed", "ms", spent(lambda: planning.standing(pk), crowd.change), GOAL_CHANGED_MS)
    bench_round()
    for name, question in questions_about(crowd).items():
        question()
        show(f"{name}, again", "ms", spent(question), GOAL_AGAIN_MS)
        show(f"{name}, changed", "ms", spent(question, crowd.change), GOAL_CHANGED_MS)


def bench_round() -> None:
    from jobs import services  # noqa: PLC0415  needs Django's registry
    from quotas.models import Forecast, ForecastPass  # noqa: PLC0415

    for which in ("first", "next"):
        ForecastPass.objects.update(made_at="2020-01-01T00:00:00Z")
        start = process_time()
        made = services.forecast_all()
        title = f"{which} round of {made:,} forecasts"
        show(title, "s", process_time() - start, GOAL_ROUND_S)
        told = Forecast.objects.filter(outcome="").exclude(p50=None).count()
        print(f"   {told:,} of them are told a time; the others are too far behind")


def main() -> None:
    with tempfile.TemporaryDirectory(prefix="turno-answers-") as folder:
        os.environ |= {
            "DJANGO_SETTINGS_MODULE": "portal.settings",
            "TURNO_SECRET_KEY": "bench",
            "TURNO_DATABASE_URL": f"sqlite:///{folder}/turno.sqlite3",
            "TURNO_LOG_LEVEL": "ERROR",
        }
        django.setup()
        call_command("migrate", verbosity=0)
        bench(int(next(iter(sys.argv[1:]), "1000")))


if __name__ == "__main__":
    main()
