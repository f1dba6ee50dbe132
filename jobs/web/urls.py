"""Pages of the jobs room."""

from __future__ import annotations

from django.urls import path

from jobs.web import actions, connect, log, new, queue, workload, workloads

urlpatterns = [
    path("connect/check/", connect.check),
    path("connect/<uuid:workload_id>/", connect.connect),
    path("new/<slug:kind>/", new.new),
    path("new/<slug:kind>/check/", new.check),
    path("queue/", queue.queue),
    path("queue/lines/", queue.lines),
    path("queue/priority/", queue.reorder),
    path("workloads/", workloads.workloads),
    path("workloads/table/", workloads.table),
    path("workloads/<uuid:workload_id>/", workload.workload),
    path("workloads/<uuid:workload_id>/live/", workload.live),
    path("workloads/<uuid:workload_id>/log/", log.log),
    path("workloads/<uuid:workload_id>/start/", actions.start),
    path("workloads/<uuid:workload_id>/stop/", actions.stop),
    path("workloads/<uuid:workload_id>/priority/", actions.priority),
    path("workloads/<uuid:workload_id>/delete/", actions.delete),
    path("workloads/<uuid:workload_id>/key/", actions.key),
]
