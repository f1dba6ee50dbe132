"""Names and hosts of one workload's objects. Pure; bounded and unique by construction (`portal.cluster.names`)."""

from __future__ import annotations

from uuid import UUID

from portal.cluster import names


def stem(name: str, workload_id: UUID) -> str:
    """Workload-owned objects: at most 29 characters."""
    return names.workload_name(name, workload_id)


def of_run(name: str, workload_id: UUID, run: int) -> str:
    """Run-owned objects: at most 36 characters."""
    return names.run_name(name, workload_id, run)


def home_claim(name: str, workload_id: UUID) -> str:
    """A notebook's home, for a workload that has none yet."""
    return f"{stem(name, workload_id)}-home"


def notebook_host(name: str, workload_id: UUID, domain: str) -> str:
    """One host per notebook, so that no notebook shares an origin with another or with the portal."""
    return f"{stem(name, workload_id)}.{domain}"


def endpoint_path(workload_id: UUID) -> str:
    """Where the gateway routes to this model server."""
    return f"/e/{workload_id}"
