"""Routes of the jobs room below `/api/v1/`."""

from __future__ import annotations

from typing import Any

from django.urls import URLPattern, path

from jobs.api import kinds, views
from jobs.api.logs import text_view
from jobs.api.waiting import long_poll

LISTS: dict[str, tuple[str, Any]] = {
    "notebooks": ("notebook", kinds.NotebooksView),
    "training-jobs": ("training", kinds.TrainingJobsView),
    "endpoints": ("endpoint", kinds.EndpointsView),
}


def _of_kind(plural: str, kind: str, listed: Any) -> list[URLPattern]:
    one, given = f"{plural}/<uuid:id>/", {"kind": kind}
    return [
        path(f"{plural}/", listed.as_view()),
        path(one, long_poll(views.DetailView.as_view()), given),
        path(f"{one}stop/", views.StopView.as_view(), given),
        path(f"{one}start/", views.StartView.as_view(), given),
        path(f"{one}runs/", views.RunsView.as_view(), given),
        path(f"{one}events/", views.EventsView.as_view(), given),
        path(f"{one}logs/", text_view(views.LogsView.as_view()), given),
        path(f"{one}explain/", views.ExplainView.as_view(), given),
        path(f"{one}manifests/", views.ManifestsView.as_view(), given),
    ]


urlpatterns = [
    path("queue/", views.QueueView.as_view()),
    path("workloads/", views.WorkloadsView.as_view()),
    *[route for plural, (kind, listed) in LISTS.items() for route in _of_kind(plural, kind, listed)],
    path("endpoints/<uuid:id>/key/", views.KeyView.as_view(), {"kind": "endpoint"}),
]
