"""The one place that builds cluster gateways: from a cluster row's connection name and the settings of this process."""

from __future__ import annotations

import os
from collections.abc import Callable
from threading import Lock

from django.conf import settings
from django.core.exceptions import ImproperlyConfigured

from portal.cluster.kube import Connection, KubeGateway, Timeouts
from portal.cluster.models import Cluster
from portal.cluster.names import field_manager
from portal.cluster.port import ClusterGateway, ClusterInspector
from portal.kernel.work import Lease, Retry

# A pass holds its object for five seconds at a time. Each call begins with most of them left and is over before they
# are, so that a cluster that stays silent is told and backed off from, instead of the lease being lost each time.
PASS = Timeouts(connect=1.5, answer=2.5)
_LEFT_BEFORE_A_CALL = 4.5
_LOOK_FOR_A_CONNECTION = 30.0

_lock = Lock()
_connections: dict[tuple[str, str], Connection] = {}
os.register_at_fork(after_in_child=_connections.clear)  # sockets are not shared with a child


def gateway_of_pass(cluster: Cluster, lease: Lease) -> ClusterGateway:
    """The door for one pass over one object; its calls raise LeaseLost, too.

    Raises Retry where this worker has no such connection: one that has it may come, and nothing is wrong with the row.
    """
    try:
        return gateway(cluster, timeouts=PASS, before_call=lambda: lease.require(_LEFT_BEFORE_A_CALL))
    except ImproperlyConfigured as missing:
        raise Retry(str(missing), after=_LOOK_FOR_A_CONNECTION) from missing


def gateway(
    cluster: Cluster, *, timeouts: Timeouts | None = None, before_call: Callable[[], None] | None = None
) -> ClusterGateway:
    """The door to this cluster; one client per process and connection. Raises ImproperlyConfigured where this process
    has no such connection (web never has one)."""
    return _build(cluster, timeouts, before_call)


def inspector(cluster: Cluster) -> ClusterInspector:
    """The same door, for what an administrator asks. Raises ImproperlyConfigured as `gateway` does."""
    return _build(cluster, None, None)


def _build(cluster: Cluster, timeouts: Timeouts | None, before_call: Callable[[], None] | None) -> KubeGateway:
    target = settings.CLUSTER_CONNECTIONS.get(cluster.connection)
    if not target:
        raise ImproperlyConfigured(
            f"TURNO_CLUSTER_CONNECTIONS of this process has no entry {cluster.connection!r} (cluster {cluster.name})"
        )
    with _lock:
        connection = _connections.setdefault((cluster.connection, target), Connection(target))
    return KubeGateway(connection, manager=field_manager(cluster.instance), timeouts=timeouts, before_call=before_call)
