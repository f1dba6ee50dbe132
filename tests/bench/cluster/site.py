"""The control plane of this run, and a Turno of real processes on it, each under an account of its own."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import yaml

from deploy.demo.places import Places, Ports, environment
from deploy.demo.programs import Kubernetes, Program, all_programs, all_steps
from portal.cluster.kube import Connection, KubeGateway
from tests.cluster_real.plane import OwnPlane, own_plane
from tests.cluster_real.stage import is_true
from tests.faultproxy.proxy import FaultProxy
from tests.faults.client import TRAINING, Submitted
from tests.faults.stage import PORTAL, Stage, own_database, own_settings, run
from tests.tooling.processes import free_port, wait_until

ACCOUNTS = ("worker", "watch", "logs")
NAMESPACE = "turno-system"
HANDS = 4
NODES, PODS_PER_NODE = 6, 2000
SMALL: dict[str, Any] = {"cpu": "10m", "memory": "16Mi"}
USER = "luis"


@dataclass
class Site(Stage):
    """The processes, and the cluster behind them. Nothing stands between the two."""

    plane: OwnPlane = None  # type: ignore[assignment]

    @cached_property
    def kubeconfig(self) -> str:
        """The administrator's: its reads are not in the audit log."""
        return str(self.plane.plane.places.kubeconfig)

    @property
    def gateway(self) -> KubeGateway:
        return KubeGateway(Connection(self.kubeconfig), manager="bench")

    def memory(self, name: str) -> float:
        """Resident memory of a process, in MiB."""
        status = Path(f"/proc/{self.running[name].process.pid}/status").read_text()
        return int(status.split("VmRSS:")[1].split()[0]) / 1024

    def job(self, name: str, seconds: float = 1.0, **changes: Any) -> dict[str, Any]:
        """What is posted for a small training job that runs so long."""
        env = {"TURNO_SIM_SECONDS": str(seconds)}
        return {**TRAINING, "tenant": self.users[USER]["tenant"], "name": name, "env": env, **SMALL, **changes}

    def submit(self, name: str, seconds: float = 1.0, *, kind: str = "training", **changes: Any) -> Submitted:
        env = {"TURNO_SIM_SECONDS": str(seconds)} if kind == "training" else {}
        return self.client(USER).submit(kind, name, **{"env": env, **SMALL, **changes})

    def count(self, state: str) -> int:
        """How many of the team's workloads are in a state, over REST."""
        client, path, found = self.client(USER), f"/workloads/?state={state}&page_size=200", 0
        while path:
            answer = client.call("GET", path).json
            found += len(answer["results"])
            path = (answer["next"] or "").partition("/api/v1")[2]
        return found


@contextmanager
def whole_site(folder: Path) -> Iterator[Site]:
    """Everything is up, teams have their place on the cluster, and there is room for thousands of small pods."""
    plane = own_plane()
    first = free_port(4)
    places, ports = Places(folder), Ports(first, first + 1, first + 2, first + 3)
    places.create()
    with ExitStack() as stack:
        url = stack.enter_context(own_database(places))
        outside = {name: value for name, value in os.environ.items() if not name.startswith(("TURNO_", "DJANGO_"))}
        settings = {**environment(places, ports), **{name: "" for name in os.environ if name.startswith("TURNO_")}}
        settings |= {**outside, **own_settings(places, ports, url), "TURNO_LOG_LEVEL": "WARNING"}
        real = Kubernetes(str(plane.plane.places.kubeconfig), f"https://127.0.0.1:{plane.plane.ports.api}")
        furnish(plane)
        site = Site(places, ports, settings, FaultProxy(""), programs(places, ports, real, plane), plane=plane)
        stack.callback(site.end)
        migrate, demo_data = all_steps(ports, real)
        site.start("broker", "data")
        run(migrate.command, settings)
        site.start(*PORTAL)
        run(demo_data.command, {**settings, **demo_data.knows})
        site.users = json.loads(places.credentials.read_text())["users"]
        site.until_up("broker", "web")
        wait_until(lambda: teams_are_ready(site), "three teams' queues are active", 90)
        yield site


def teams_are_ready(site: Site) -> bool:
    queues = site.gateway.list("LocalQueue", selector="turno.dev/instance=turno").items
    return len(queues) == 3 and all(is_true(one, "Active") for one in queues)


def furnish(plane: OwnPlane) -> None:
    """Nodes with room, and an account for each process that talks to the cluster: all may do all here, but each is
    told from the others in the audit log."""
    amounts = {"cpu": "4000", "memory": "8Ti", "pods": str(PODS_PER_NODE), "ephemeral-storage": "9Ti"}
    nodes = [
        {
            "apiVersion": "v1",
            "kind": "Node",
            "metadata": {
                "name": f"bench-{number}",
                "annotations": {"kwok.x-k8s.io/node": "fake"},
                "labels": {"kubernetes.io/hostname": f"bench-{number}", "kubernetes.io/os": "linux"},
            },
            "status": {"capacity": amounts, "allocatable": amounts},
        }
        for number in range(NODES)
    ]
    accounts: list[dict[str, Any]] = [{"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}}]
    for name in ACCOUNTS:
        whose = {"kind": "ServiceAccount", "name": name, "namespace": NAMESPACE}
        all_of_it = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "cluster-admin"}
        accounts += [
            {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": name, "namespace": NAMESPACE}},
            {
                "apiVersion": "rbac.authorization.k8s.io/v1",
                "kind": "ClusterRoleBinding",
                "metadata": {"name": f"bench-{name}"},
                "roleRef": all_of_it,
                "subjects": [whose],
            },
        ]
    told = {"apiVersion": "v1", "kind": "List", "items": [*accounts, *nodes]}
    plane.kubectl("apply", "--server-side", "-f", "-", given=told)


def kubeconfig_of(account: str, plane: OwnPlane, folder: Path) -> Path:
    """A kubeconfig with the account's own token."""
    token = plane.kubectl("create", "token", account, "--namespace", NAMESPACE, "--duration", "24h").strip()
    found = yaml.safe_load(plane.plane.places.kubeconfig.read_text())
    found["users"] = [{"name": one["name"], "user": {"token": token}} for one in found["users"]]
    file = folder / f"kubeconfig-{account}"
    file.touch(mode=0o600)
    file.write_text(yaml.safe_dump(found))
    return file


def programs(places: Places, ports: Ports, real: Kubernetes, plane: OwnPlane) -> dict[str, Program]:
    """The demo's own, with more hands, each process under its own account."""
    found = {program.name: program for program in all_programs(places, ports, real)}
    for name in ACCOUNTS:
        door = kubeconfig_of(name, plane, places.folder)
        found[name] = replace(found[name], knows={"TURNO_CLUSTER_CONNECTIONS": f"default={door}"})
    command: list[Any] = [*found["worker"].command]
    command[command.index("--concurrency") + 1] = str(HANDS)
    found["worker"] = replace(found["worker"], command=tuple(command))
    return found
