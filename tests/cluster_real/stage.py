"""Every process of Turno on the control plane of this run: what the faults suite has, without the simulated cluster."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from deploy.demo.places import Places, Ports, environment
from deploy.demo.programs import Kubernetes, Program, all_programs, all_steps
from portal.cluster.kube import Connection, KubeGateway
from portal.cluster.port import JsonObject, ObjectRef
from tests.cluster_real.plane import OwnPlane
from tests.faultproxy.proxy import FaultProxy
from tests.faults.client import Submitted
from tests.faults.stage import CONCURRENCY, PORTAL, Stage, own_database, own_settings, run
from tests.tooling.processes import free_port, wait_until

# Real schedulers, controllers and back-offs take their time, and the machine may have other work.
SOON = 90.0
WORKLOAD = "turno.dev/workload"


@dataclass
class RealStage(Stage):
    """The processes, and the cluster behind them."""

    plane: OwnPlane = None  # type: ignore[assignment]

    @property
    def gateway(self) -> KubeGateway:
        return KubeGateway(Connection(str(self.plane.plane.places.kubeconfig)), manager="kubectl-edit")

    def whole(self) -> None:
        """Every process runs once, and nothing is broken any more."""
        self.proxy.faults.clear()
        names = ("broker", "data", *PORTAL)
        dead = [name for name in names if name not in self.running or self.running[name].process.poll() is not None]
        self.start(*dead)
        self.until_up(*dead)

    def clear(self) -> None:
        """What a test left behind is deleted, so that the next one finds the cards free."""
        for manager in ("marta", "ana", "sofia"):
            client = self.client(manager)
            for one in client.call("GET", "/workloads/?page_size=200").json["results"]:
                path = urlsplit(one["url"]).path.removeprefix("/api/v1")
                client.call("DELETE", f"{path}?delete_data=true")
        wait_until(lambda: not self.gateway.list("Pod", selector=WORKLOAD).items, "no pod of ours is left", SOON)

    def of(self, workload: Submitted, kind: str) -> list[JsonObject]:
        """The workload's objects of a kind, as they are on the cluster now."""
        return self.gateway.list(kind, selector=f"{WORKLOAD}={workload.id}").items

    def one(self, workload: Submitted, kind: str) -> JsonObject:
        found = self.of(workload, kind)
        assert len(found) == 1, f"{len(found)} {kind} of {workload.name}"
        return found[0]

    def admitted(self, workload: Submitted) -> bool:
        """Whether Kueue itself says that the workload holds quota."""
        return any(is_true(one, "Admitted") for one in self.kueue_workloads(workload))

    def kueue_workloads(self, workload: Submitted) -> list[JsonObject]:
        """Kueue's Workloads of the run's object or of its pods."""
        owners = {one["metadata"]["uid"] for kind in ("Job", "StatefulSet", "Pod") for one in self.of(workload, kind)}
        listed = self.gateway.list("Workload", namespace=f"turno-{workload.client.tenant}").items
        return [
            one
            for one in listed
            if owners.intersection(
                [ref["uid"] for ref in one["metadata"].get("ownerReferences") or []]
                + [(one["metadata"].get("labels") or {}).get("kueue.x-k8s.io/job-uid", "")]
            )
        ]

    def remove(self, workload: Submitted, kind: str) -> JsonObject:
        """As somebody with kubectl does."""
        found = self.one(workload, kind)
        ref = ObjectRef(kind, found["metadata"]["name"], found["metadata"]["namespace"])
        self.gateway.delete(ref, uid=found["metadata"]["uid"])
        return found

    def edit(self, workload: Submitted, kind: str, patch: JsonObject) -> JsonObject:
        """As somebody with kubectl does."""
        found = self.one(workload, kind)["metadata"]
        ref = ObjectRef(kind, found["name"], found["namespace"])
        return self.gateway.patch(ref, patch, uid=found["uid"], resource_version=found["resourceVersion"])

    def until_teams_are_ready(self) -> None:
        """Namespaces and queues of all teams are there, and Kueue has taken the queues."""

        def ready() -> bool:
            queues = self.gateway.list("LocalQueue", selector="turno.dev/instance=turno").items
            return len(queues) == 3 and all(is_true(one, "Active") for one in queues)

        wait_until(ready, "three teams' queues are active", SOON)


def is_true(one: JsonObject, kind: str) -> bool:
    conditions = (one.get("status") or {}).get("conditions") or []
    return any(each["type"] == kind and each["status"] == "True" for each in conditions)


@contextmanager
def real_turno(folder: Path, plane: OwnPlane) -> Iterator[RealStage]:
    """Everything is up, and the demo's teams have their place on the cluster; which is given back afterwards."""
    first = free_port(4)
    places, ports = Places(folder), Ports(first, first + 1, first + 2, first + 3)
    places.create()
    address = f"https://127.0.0.1:{plane.plane.ports.api}"
    real = Kubernetes(str(plane.plane.places.kubeconfig), address)
    with ExitStack() as stack:
        url = stack.enter_context(own_database(places))
        outside = {name: value for name, value in os.environ.items() if not name.startswith(("TURNO_", "DJANGO_"))}
        settings = {**environment(places, ports), **{name: "" for name in os.environ if name.startswith("TURNO_")}}
        settings |= {**outside, **own_settings(places, ports, url)}
        proxy = stack.enter_context(
            FaultProxy(f"http://127.0.0.1:{stack.enter_context(plane.in_the_clear(places.logs))}")
        )
        stage = RealStage(places, ports, settings, proxy, programs(places, ports, real, proxy.address), plane=plane)
        stack.callback(stage.end)
        migrate, demo_data = all_steps(ports, real)
        stage.start("broker", "data")
        run(migrate.command, settings)
        stage.start(*PORTAL)
        run(demo_data.command, {**settings, **demo_data.knows})
        stage.users = json.loads(places.credentials.read_text())["users"]
        stage.until_up("broker", *PORTAL)
        stage.until_teams_are_ready()
        yield stage


def programs(places: Places, ports: Ports, real: Kubernetes, door: str) -> dict[str, Program]:
    """The demo's own, with more hands, and the proxy in between."""
    found = {program.name: program for program in all_programs(places, ports, real)}
    for name in ("worker", "watch", "logs"):
        found[name] = replace(found[name], knows={"TURNO_CLUSTER_CONNECTIONS": f"default={door}"})
    command: list[Any] = [*found["worker"].command, "--hostname", "COPY@here"]
    command[command.index("--concurrency") + 1] = str(CONCURRENCY)
    found["worker"] = replace(found["worker"], command=tuple(command))
    return found
