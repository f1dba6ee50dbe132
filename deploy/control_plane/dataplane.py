"""The demo's data plane before a real API server: `python -m deploy.control_plane.dataplane PORT KUBECONFIG PORTAL`.

KWOK's pods run nothing, so somebody has to answer for notebooks and models: the same gateway that the simulated
cluster has, which looks once a second at what is really on the cluster.
"""

import asyncio
import logging
import signal
import sys

from deploy.control_plane.places import NAME
from portal.cluster.kube import Connection, KubeGateway
from portal.cluster.names import INSTANCE
from portal.cluster.port import ClusterError, JsonObject
from portal.cluster.simulated.controllers.manager import Manager
from portal.cluster.simulated.dataplane import DataPlane
from portal.cluster.simulated.logs import LogBook
from portal.cluster.simulated.server import application_server, listen
from portal.cluster.simulated.store import Store

log = logging.getLogger(__name__)

KINDS = ("HTTPRoute", "Service", "Secret", "Deployment", "Pod")
LOOK_EVERY = 1.0


def seen(gateway: KubeGateway) -> Store:
    """What is there now of what a gateway reads. A pod that is going answers nobody any more. Raises ClusterError."""
    store = Store()
    for kind in KINDS:
        for one in everything(gateway, kind):
            if not (kind == "Pod" and "deletionTimestamp" in one["metadata"]):
                store.create(one, uid=one["metadata"]["uid"])
    return store


def everything(gateway: KubeGateway, kind: str) -> list[JsonObject]:
    page = gateway.list(kind, selector=INSTANCE)
    items = page.items
    while page.next:
        page = gateway.list(kind, selector=INSTANCE, continue_token=page.next)
        items += page.items
    return items


async def look(gateway: KubeGateway, manager: Manager) -> None:
    """Until cancelled. While the cluster is away, what was seen last goes on answering."""
    while True:
        try:
            manager.world.store = await asyncio.to_thread(seen, gateway)
        except ClusterError as error:
            log.warning("the cluster does not answer: %s", error)
        await asyncio.sleep(LOOK_EVERY)


async def serve(port: int, kubeconfig: str, portal_url: str) -> None:
    """Until SIGTERM or SIGINT. Raises OSError where the port is taken."""
    gateway = KubeGateway(Connection(kubeconfig), manager=f"{NAME}-data-plane")
    manager = Manager(Store(), LogBook(None), seed=False)
    sock = listen("127.0.0.1", port)
    server = application_server(DataPlane(manager, portal_url))
    loop = asyncio.get_running_loop()

    def stop() -> None:
        server.should_exit = True

    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop)
    looking = asyncio.ensure_future(look(gateway, manager))
    try:
        await server.serve([sock])
    finally:
        looking.cancel()


if __name__ == "__main__":
    asyncio.run(serve(int(sys.argv[1]), sys.argv[2], sys.argv[3]))
