"""Rows in the shapes of the REST contract; pages show the same."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

from jobs.models import Run, Workload
from jobs.selectors import waiting
from jobs.selectors.words import sentence
from jobs.states import EXPLANATIONS, Reason, State
from portal.cluster import selectors as cluster
from portal.kernel import clock
from quotas import selectors as quotas

PLURALS: Mapping[str, str] = {"notebook": "notebooks", "training": "training-jobs", "endpoint": "endpoints"}
OUTCOME_STATES: Mapping[str, State] = {
    "succeeded": State.SUCCEEDED,
    "failed": State.FAILED,
    "stopped": State.STOPPED,
    "deleted": State.DELETED,
}
OWN_FIELDS: Mapping[str, tuple[str, ...]] = {
    "notebook": ("ide", "storage", "idle_timeout"),
    "training": (
        "framework",
        "retries",
        "checkpoint_path",
        "min_nodes",
        "grace_period",
    ),
    "endpoint": ("model", "runtime", "min_replicas", "max_replicas", "scale_to_zero_after"),
}
LONG_FIELDS: Mapping[str, tuple[str, ...]] = {
    "notebook": ("env",),
    "training": ("env", "command", "args"),
    "endpoint": ("env", "args"),
}


WORTH_A_WORD = timedelta(minutes=2)


def represent(row: Workload, *, detail: bool, language: str | None) -> dict[str, Any]:
    """A workload as `api.md` has it; times are RFC 3339 texts. A list row has no position and no long fields."""
    spec = row.spec
    body: dict[str, Any] = {
        "id": str(row.pk),
        "url": f"/api/v1/{PLURALS[row.kind]}/{row.pk}/",
        "kind": row.kind,
        "tenant": row.tenant.slug,
        "project": row.project or None,
        "cluster": row.cluster.name,
        "name": row.name,
        "description": row.description,
        "owner": {"type": row.owner_type, "name": row.owner_label},
        "state": str(row.state),
        "reason": str(row.reason),
        "message": message(row, language),
        "position": waiting.position(row) if detail else None,
        "flavor": row.flavor.name,
        "gpus": spec["gpus"],
        "nodes": spec.get("nodes", 1),
        "nodes_admitted": row.nodes_admitted,
        "replicas": _replicas(row),
        "quota_held": row.quota_held,
        "run": row.run_number,
        "exit_code": row.exit_code,
        "preemptions": row.preemptions,
        "labels": row.labels,
        **{name: _stamp(getattr(row, name)) for name in ("created_at", "queued_at", "started_at", "finished_at")},
        "connect_url": connect_path(row),
        "endpoint_url": endpoint_url(row),
        "as_of": _stamp(_as_of(row)),
        **{name: spec.get(name) for name in ("cpu", "memory", "image", "max_duration")},
        "priority": row.priority or None,
        **{name: spec.get(name) for name in OWN_FIELDS[row.kind]},
        **_use(row),
    }
    if detail:
        body |= {name: row.bulk.get(name) for name in LONG_FIELDS[row.kind]}
    return body


def message(row: Workload, language: str | None) -> str:
    """The reason's sentence in the reader's language."""
    if not row.reason:
        return ""
    return sentence(EXPLANATIONS[Reason(row.reason)].sentence, row.reason_params, language)


def way_out(row: Workload, language: str | None) -> str:
    """What the reader can do about it; "" where nothing needs doing."""
    if not row.reason:
        return ""
    return sentence(EXPLANATIONS[Reason(row.reason)].way_out, row.reason_params, language)


def represent_runs(rows: Iterable[Run]) -> list[dict[str, Any]]:
    """Runs of one workload, with what each held; one query for all allocations."""
    found = list(rows)
    held: dict[int, list[dict[str, Any]]] = {}
    for one in quotas.allocations(found[0].workload_id) if found else ():
        held.setdefault(one.run, []).append(
            {
                "flavor": one.flavor,
                "units": one.units,
                "admitted_at": _stamp(one.admitted_at),
                "released_at": _stamp(one.released_at),
                "why": one.why,
                "by": one.by,
                "rule": one.rule,
            }
        )
    return [
        {
            "number": run.number,
            "state": str(OUTCOME_STATES.get(run.outcome) or run.workload.state),
            "outcome": run.outcome or None,
            "exit_code": run.exit_code,
            "flavor": run.flavor_name,
            "nodes": run.nodes,
            **{name: _stamp(getattr(run, name)) for name in ("created_at", "admitted_at", "started_at", "finished_at")},
            "allocations": held.get(run.number, []),
        }
        for run in found
    ]


def connect_path(row: Workload) -> str | None:
    """Where a person opens a running notebook; None for everything else, a machine's notebook included."""
    runs = row.kind == "notebook" and row.state == State.RUNNING and row.owner_type == "person"
    return f"/connect/{row.pk}/" if runs else None


def endpoint_url(row: Workload) -> str | None:
    """The address of a model server, whatever its state: the state says whether it answers."""
    return f"{row.cluster.endpoint_url.rstrip('/')}/e/{row.pk}/v1" if row.kind == "endpoint" else None


def _use(row: Workload) -> dict[str, str | None]:
    """When a notebook was last open, and when it stops unless it is opened again: only while it runs."""
    if row.kind != "notebook":
        return {}
    ends = row.idle_stop_at if row.state == State.RUNNING else None
    return {"last_used_at": _stamp(row.last_used_at), "idle_stop_at": _stamp(ends)}


def idle_left(row: Workload) -> int | None:
    """Seconds until a notebook stops unless it is opened; None while somebody has it open, and where nothing ends it.

    Use is noted once a minute at most, so only two minutes without it are worth a word.
    """
    now = clock.now()
    if row.state != State.RUNNING or row.last_used_at is None or row.idle_stop_at is None:
        return None
    unused = now - row.last_used_at
    return max(0, int((row.idle_stop_at - now).total_seconds())) if unused >= WORTH_A_WORD else None


def _replicas(row: Workload) -> dict[str, int] | None:
    if row.kind != "endpoint":
        return None
    return {"desired": row.replicas_desired, "ready": row.replicas_ready, "queued": row.replicas_queued}


def _as_of(row: Workload) -> datetime | None:
    found = row.as_of if hasattr(row, "as_of") else cluster.as_of(row.cluster_id, "Workload")
    assert found is None or isinstance(found, datetime)  # noqa: S101  annotated by `workloads.ROWS`
    return found


def _stamp(moment: datetime | None) -> str | None:
    if moment is None:
        return None
    return moment.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
