"""Names and labels of everything Turno puts on a cluster. Pure; safe, bounded and collision-free by construction."""

from __future__ import annotations

import hashlib
import re
from uuid import UUID

MANAGED_BY = "app.kubernetes.io/managed-by"
INSTANCE = "turno.dev/instance"
TENANT = "turno.dev/tenant"
WORKLOAD = "turno.dev/workload"
KIND = "turno.dev/kind"
RUN = "turno.dev/run"
PROJECT = "turno.dev/project"
OBJECT = "turno.dev/object"
QUEUE_NAME = "kueue.x-k8s.io/queue-name"
PRIORITY_CLASS = "kueue.x-k8s.io/priority-class"
MAX_EXEC_TIME = "kueue.x-k8s.io/max-exec-time-seconds"
OURS = "turno"

LONGEST_NAME = 36
_SLUG_PART = 18


def field_manager(instance: str) -> str:
    """Our server-side apply owner."""
    return f"turno-{instance}"


def workload_name(slug: str, workload_id: UUID) -> str:
    """`<slug, at most 18>-<last 10 hex of the id>`: the stem of all objects of one workload, starts with a letter."""
    stem = re.sub(r"[^a-z0-9-]+", "-", slug.lower()).strip("-")[:_SLUG_PART].strip("-")
    if not stem or not stem[0].isalpha():
        stem = f"w-{stem}"[:_SLUG_PART].strip("-")
    return f"{stem}-{workload_id.hex[-10:]}"


def run_name(slug: str, workload_id: UUID, run: int) -> str:
    """The stem with `-r<run>`: objects that live and die with one run. At most 36 characters up to run 99,999."""
    return f"{workload_name(slug, workload_id)}-r{run}"


def prefixed(prefix: str, name: str) -> str:
    """Namespace, ClusterQueue, ResourceFlavor, Cohort, WorkloadPriorityClass: the cluster's prefix and the name."""
    full = f"{prefix}{name}"
    if len(full) <= 63:
        return full
    digest = hashlib.sha256(full.encode()).hexdigest()[:8]
    return f"{full[:54].rstrip('-')}-{digest}"


def base_labels(instance: str) -> dict[str, str]:
    """On every object of ours; nothing without them is ever changed or deleted."""
    return {MANAGED_BY: OURS, INSTANCE: instance}


def tenant_labels(instance: str, tenant_slug: str) -> dict[str, str]:
    return {**base_labels(instance), TENANT: tenant_slug}


def object_label(kind: str, object_id: UUID) -> dict[str, str]:
    """On objects that a row of work kind `kind` keeps true, so that a change of theirs finds the row."""
    return {OBJECT: f"{kind}.{object_id}"}


def is_ours(labels: dict[str, str] | None, instance: str) -> bool:
    """Whether an object with these labels belongs to this instance of Turno."""
    return bool(labels) and labels.get(MANAGED_BY) == OURS and labels.get(INSTANCE) == instance  # type: ignore[union-attr]
