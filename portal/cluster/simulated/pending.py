"""GET below Kueue's visibility API, which its manager serves itself: it goes away with it."""

from __future__ import annotations

from portal.cluster.simulated.controllers.kueue.visibility import pending_in_cluster_queue, pending_in_local_queue
from portal.cluster.simulated.controllers.manager import Manager
from portal.cluster.simulated.errors import ApiError
from portal.cluster.simulated.exchange import Response

_GROUP = "visibility.kueue.x-k8s.io"
_DOWN = "error trying to reach service: dial tcp 127.0.0.1:18082: connect: connection refused\n"


class PendingWorkloads:
    """Answers for one manager's queues."""

    def __init__(self, manager: Manager) -> None:
        self._manager = manager

    def __call__(self, path: str) -> Response:
        """path: `clusterqueues/NAME/pendingworkloads` or `namespaces/NS/localqueues/NAME/pendingworkloads`. Raises
        ApiError."""
        world, books = self._manager.world, self._manager.books
        if not world.settings.kueue_runs:
            return Response(503, text=_DOWN)
        match path.strip("/").split("/"):
            case ["clusterqueues", queue, "pendingworkloads"]:
                summary, kind, name = pending_in_cluster_queue(world.store, books, queue), "clusterqueue", queue
            case ["namespaces", namespace, "localqueues", queue, "pendingworkloads"]:
                summary = pending_in_local_queue(world.store, books, namespace, queue)
                kind, name = "localqueue", queue
            case _:
                return Response(404, text="404 page not found\n")
        if summary is None:
            details = {"name": name, "group": _GROUP, "kind": kind}
            raise ApiError(404, "NotFound", f'{kind}.{_GROUP} "{name}" not found', details)
        return Response(document=summary)
