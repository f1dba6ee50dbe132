"""`/healthz` (alive), `/readyz` (database reachable and migrated; the broker's state is told, not required)."""

from __future__ import annotations

from django.db import DEFAULT_DB_ALIAS, DatabaseError, connections
from django.db.migrations.executor import MigrationExecutor
from django.http import HttpRequest, JsonResponse

from portal.kernel import broker


def healthz(_request: HttpRequest) -> JsonResponse:
    """The process answers."""
    return JsonResponse({"status": "ok"})


def readyz(_request: HttpRequest) -> JsonResponse:
    """200 when the database answers and every migration is applied, else 503."""
    try:
        executor = MigrationExecutor(connections[DEFAULT_DB_ALIAS])
        missing = len(executor.migration_plan(executor.loader.graph.leaf_nodes()))
    except DatabaseError:
        return JsonResponse({"status": "database does not answer"}, status=503, headers={"Retry-After": "2"})
    if missing:
        return JsonResponse({"status": "not migrated", "missing": missing}, status=503, headers={"Retry-After": "2"})
    return JsonResponse({"status": "ok", "broker": "resting" if broker.is_open() else "ok"})
