"""Requests to the API server in the life of one workload, from the audit log."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from tests.bench.cluster.figures import figure, middle, note, title
from tests.bench.cluster.site import SMALL, USER, Site
from tests.bench.cluster.sizes import Sizes
from tests.bench.cluster.witness import AuditLog, Request, counted
from tests.faults.client import Submitted

MOST_WRITES = 15
CALM = 3.0  # seconds in which nothing more is asked
FRESH = {"env": {"TURNO_SIM_SECONDS": "3"}, **SMALL}


def measure(site: Site, sizes: Sizes) -> None:
    rounds = sizes.lives
    title(f"Requests of one life, from submit to finished or deleted (medians of {rounds} rounds)")
    kinds: list[tuple[str, str, dict[str, Any], Callable[[Submitted], None]]] = [
        ("training job", "training", FRESH, finished),
        ("training job, fails twice", "training", {**FRESH, "env": failing(), "retries": 1}, finished),
        ("indexed training on 3 nodes", "training", {**FRESH, "framework": "indexed", "nodes": 3}, finished),
        ("notebook, stopped, deleted", "notebook", SMALL, stopped_and_deleted),
        ("endpoint, stopped, deleted", "endpoint", SMALL, stopped_and_deleted),
    ]
    audit = AuditLog(site.plane.plane.places.logs / "audit.log")
    for what, kind, body, life in kinds:
        found = [one_life(site, audit, kind, f"life-{kind}-{time.monotonic_ns()}", body, life) for _ in range(rounds)]
        writes = [sum(one.writes for one in requests) for requests in found]
        reads = middle([len(requests) - count for requests, count in zip(found, writes, strict=True)])
        figure(what, middle(writes), MOST_WRITES, unit="writes", told=f"and {reads:g} reads")
        note(f"    {counted(found[-1])}")


def failing() -> dict[str, str]:
    return {"TURNO_SIM_SECONDS": "2", "TURNO_SIM_EXIT": "3"}


def finished(one: Submitted) -> None:
    one.until("succeeded", "failed")


def stopped_and_deleted(one: Submitted) -> None:
    one.until("running")
    one.do("stop")
    one.until("stopped")
    one.delete()
    one.until("deleted")


def one_life(
    site: Site, audit: AuditLog, kind: str, name: str, body: dict[str, Any], life: Callable[[Submitted], None]
) -> list[Request]:
    """Everything that Turno asked while this workload alone lived, but for watches that begin anew."""
    calm(audit)
    one = site.client(USER).submit(kind, name[:60], **body)
    life(one)
    time.sleep(CALM)
    return [request for request in audit.take() if request.verb != "watch"]


def calm(audit: AuditLog) -> None:
    """Until nothing is asked for some seconds."""
    audit.take()
    for _ in range(20):
        time.sleep(CALM)
        if not [one for one in audit.take() if one.verb != "watch"]:
            return
