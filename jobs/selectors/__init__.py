"""What an actor may read of workloads: rows and small dataclasses, by a constant number of queries."""

from jobs.selectors.answering import preview
from jobs.selectors.answers import connect_path, endpoint_url, idle_left, message, represent, represent_runs, way_out
from jobs.selectors.context import judged_by, spec_context
from jobs.selectors.keys import in_use, key, next_key, notebook_host, shown
from jobs.selectors.logs import LogText, log_access, log_after, log_containers, log_text
from jobs.selectors.parked import parked
from jobs.selectors.preempted import Taken, taken_from_team, taken_from_workload
from jobs.selectors.queueing import Line, Place, lines, lines_version
from jobs.selectors.waiting import explain, position
from jobs.selectors.words import sentence
from jobs.selectors.workloads import (
    Abilities,
    Manifests,
    counts_by_state,
    events,
    is_owner,
    live_count,
    manifests,
    may,
    of_kind,
    runs,
    workload,
    workloads,
)

__all__ = [
    "Abilities",
    "Line",
    "LogText",
    "Manifests",
    "Place",
    "Taken",
    "connect_path",
    "counts_by_state",
    "endpoint_url",
    "events",
    "explain",
    "idle_left",
    "in_use",
    "is_owner",
    "judged_by",
    "key",
    "lines",
    "lines_version",
    "live_count",
    "log_access",
    "log_after",
    "log_containers",
    "log_text",
    "manifests",
    "may",
    "message",
    "next_key",
    "notebook_host",
    "of_kind",
    "parked",
    "position",
    "preview",
    "represent",
    "represent_runs",
    "runs",
    "sentence",
    "shown",
    "spec_context",
    "taken_from_team",
    "taken_from_workload",
    "way_out",
    "workload",
    "workloads",
]
