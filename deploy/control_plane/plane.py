"""One control plane: started where it does not run, kept where it does, replaced where it is half dead."""

import json
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from deploy.control_plane.building import Built, build
from deploy.control_plane.failures import Refusal
from deploy.control_plane.kubernetes import Kubernetes
from deploy.control_plane.kueue import Kueue
from deploy.control_plane.places import Places, Ports
from portal.cluster.simulated.controllers.hardware import demo_nodes

VOLUMES = 40
STORAGE_CLASS = "disks"
Say = Callable[[str], None]


@dataclass(frozen=True)
class Plane:
    """A control plane that runs, and its parts."""

    places: Places
    ports: Ports
    kubernetes: Kubernetes
    kueue: Kueue

    @classmethod
    def of(cls, built: Built, places: Places, ports: Ports) -> "Plane":
        kubernetes = Kubernetes(built, places, ports)
        return cls(places, ports, kubernetes, Kueue(built, places, ports, kubernetes))

    def healthy(self) -> bool:
        """Whether all of it answers: API server, Kueue, a webhook, and the processes that nobody asks anything."""
        running = {
            name for name in ("kube-controller-manager", "kube-scheduler", "kwok") if self.places.processes(name)
        }
        return len(running) == 3 and self.kueue.is_ready() and self.kueue.webhooks_answer()


def up(places: Places, say: Say, *, api_port: int = 0) -> Plane:
    """A whole control plane with the four-card server's nodes. Refusal where it cannot be; then nothing is left."""
    built = build(say)
    known = places.recall()
    if known is not None and known[1] == built.folder.name:
        plane = Plane.of(built, places, known[0])
        if api_port in {0, known[0].api} and plane.healthy():
            say("it runs already")
            return plane
    if places.folder.exists():
        say("what is left of an earlier one is taken away")
        down(places)
    return _start(built, places, say, api_port)


def _start(built: Built, places: Places, say: Say, api_port: int) -> Plane:
    try:
        ports = Ports.free(api_port)
    except OSError as error:
        raise Refusal(
            f"port {api_port} cannot be used ({error.strerror}): choose another with CLUSTER_PORT=..."
        ) from None
    places.folder.mkdir(parents=True, mode=0o700)
    places.remember(ports, built.folder.name)
    plane = Plane.of(built, places, ports)
    began = time.monotonic()
    try:
        plane.kubernetes.create()
        say(f"Kubernetes answers after {time.monotonic() - began:.1f} s")
        plane.kubernetes.kubectl("apply", "--server-side", "-f", str(built.gateway_crds))
        plane.kueue.install()
        plane.kueue.start()
        plane.kubernetes.kubectl("create", "-f", "-", given=json.dumps(_list(furniture())))
    except BaseException as error:
        words = str(error)
        down(places, keep_logs=True)
        if isinstance(error, Refusal):
            raise Refusal(f"{words} (logs are kept in {places.folder})") from error
        raise
    say(f"Kueue's webhooks answer after {time.monotonic() - began:.1f} s")
    return plane


def down(places: Places, *, keep_logs: bool = False) -> None:
    """Ends everything of this control plane, however dead it is, and removes its files."""
    places.end(places.processes("manager"))  # without its API server it may spin for ever
    places.end(places.processes("kube-apiserver"))
    places.end(places.processes())
    if not keep_logs:
        remove(places)


def remove(places: Places) -> None:
    """The folder, bottom up. A file that is not ours is a Refusal: nobody's folder is emptied by mistake."""
    if not places.folder.exists():
        return
    if not places.state.exists() and not places.workdir.exists() and any(places.folder.iterdir()):
        raise Refusal(f"{places.folder} is no control plane's folder; it is left as it is")
    for path in sorted(places.folder.rglob("*"), key=lambda found: len(found.parts), reverse=True):
        path.rmdir() if path.is_dir() and not path.is_symlink() else path.unlink()
    places.folder.rmdir()


def furniture() -> Iterator[dict[str, Any]]:
    """Nodes without machines, and disks for the claims of notebooks."""
    for node in demo_nodes():
        node["metadata"]["annotations"]["kwok.x-k8s.io/node"] = "fake"
        yield {**node, "status": {key: node["status"][key] for key in ("capacity", "allocatable")}}
    yield {
        "apiVersion": "storage.k8s.io/v1",
        "kind": "StorageClass",
        "metadata": {"name": STORAGE_CLASS, "annotations": {"storageclass.kubernetes.io/is-default-class": "true"}},
        "provisioner": "kubernetes.io/no-provisioner",
        "reclaimPolicy": "Retain",
    }
    yield from (_volume(number) for number in range(VOLUMES))


def _volume(number: int) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolume",
        "metadata": {"name": f"disk-{number}"},
        "spec": {
            "capacity": {"storage": "1Ti"},
            "accessModes": ["ReadWriteOnce", "ReadWriteMany"],
            "persistentVolumeReclaimPolicy": "Retain",
            "storageClassName": STORAGE_CLASS,
            "csi": {"driver": "disks.turno.dev", "volumeHandle": f"disk-{number}"},
        },
    }


def _list(objects: Iterator[dict[str, Any]]) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "List", "items": list(objects)}
