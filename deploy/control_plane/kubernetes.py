"""Kubernetes by `kwokctl`: etcd, API server, controllers and scheduler are real; kubelets are KWOK's."""

import os
import subprocess
from pathlib import Path
from typing import Any

import yaml

from deploy.control_plane.building import LOCKS, Built
from deploy.control_plane.failures import Refusal
from deploy.control_plane.places import NAME, Places, Ports

STAGES = ("nodes.yaml", "pods.yaml", "volumes.yaml")
LOGS = "logs.yaml"
STARTS_WITHIN = 60
# A node that is lost is noticed by what runs on it after this many seconds, not after five minutes.
TOLERATED = "5"
CONTAINER_LOG = "2026-01-01T00:00:00.000000000Z stdout F nothing runs here: this container is KWOK's\n"


class Kubernetes:
    """One cluster of kwokctl in the places of one control plane."""

    def __init__(self, built: Built, places: Places, ports: Ports) -> None:
        self._built, self._places, self._ports = built, places, ports

    def create(self) -> None:
        """Writes its configuration and starts it. Refusal with the reason where a component does not start."""
        self._places.workdir.mkdir(parents=True, exist_ok=True)
        self._places.container_log.write_text(CONTAINER_LOG)
        configuration = self._places.folder / "kwokctl.yaml"
        configuration.write_text(self._configuration())
        arguments = ["create", "cluster", "--config", str(configuration), "--wait", f"{STARTS_WITHIN}s"]
        self._kwokctl(*arguments, "--kubeconfig", str(self._places.kubeconfig))
        logs = (LOCKS / LOGS).read_text().replace("CONTAINER_LOG", str(self._places.container_log))
        self.kubectl("wait", "--for=condition=Established", "crd/clusterlogs.kwok.x-k8s.io", "--timeout=30s")
        self.kubectl("create", "-f", "-", given=logs)

    def stop(self) -> None:
        """Its processes end, its data stays."""
        self._kwokctl("stop", "cluster")

    def start(self) -> None:
        """After `stop`: the same cluster with the same data. A new KWOK does not take nodes from the one before, whose
        leases are therefore deleted."""
        self._kwokctl("start", "cluster", "--wait", f"{STARTS_WITHIN}s")
        self.kubectl("delete", "leases", "--namespace", "kube-node-lease", "--all")

    def kubectl(self, *arguments: str, given: str | None = None) -> str:
        """What kubectl printed, as the administrator. Refusal with its words where it failed."""
        command = [str(self._built.program("kubectl")), "--kubeconfig", str(self._places.kubeconfig), *arguments]
        told = subprocess.run(command, input=given, capture_output=True, text=True, check=False, timeout=60)
        if told.returncode:
            raise Refusal(f"kubectl {' '.join(arguments[:3])}: {told.stderr.strip()[-400:]}")
        return told.stdout

    def _kwokctl(self, *arguments: str) -> None:
        environment = {
            **os.environ,
            "KWOK_WORKDIR": str(self._places.workdir),
            "PATH": f"{self._built.program('').resolve()}{os.pathsep}{os.environ.get('PATH', '')}",
            "KUBECONFIG": str(self._places.kubeconfig),
        }
        log = self._places.folder / "kwokctl.log"
        command = [str(self._built.program("kwokctl")), *arguments, "--name", NAME]
        with log.open("ab") as output:
            try:
                done = subprocess.run(
                    command,
                    env=environment,
                    stdin=subprocess.DEVNULL,
                    stdout=output,
                    stderr=output,
                    check=False,
                    timeout=STARTS_WITHIN + 30,
                )
            except subprocess.TimeoutExpired:
                raise Refusal(f"kwokctl {arguments[0]} does not end; {why(self._places)}") from None
        if done.returncode:
            raise Refusal(f"kwokctl {arguments[0]} failed; {why(self._places)}")

    def _configuration(self) -> str:
        """kwokctl's own object, then KWOK's: how nodes, pods and disks live."""
        stages = "---\n".join((LOCKS / name).read_text() for name in STAGES)
        head = {
            "apiVersion": "config.kwok.x-k8s.io/v1alpha1",
            "kind": "KwokctlConfiguration",
            "options": self._options(),
            "componentsPatches": self._patches(),
        }
        return f"{yaml.safe_dump(head)}---\n{stages}"

    def _options(self) -> dict[str, Any]:
        binaries = {
            "kubeApiserverBinary": "kube-apiserver",
            "kubeControllerManagerBinary": "kube-controller-manager",
            "kubeSchedulerBinary": "kube-scheduler",
            "kwokControllerBinary": "kwok",
            "etcdBinary": "etcd",
            "kubectlBinary": "kubectl",
        }
        return {
            "runtime": "binary",
            "bindAddress": "127.0.0.1",
            "kubeApiserverPort": self._ports.api,
            "etcdPort": self._ports.etcd,
            "etcdPeerPort": self._ports.etcd_peer,
            "kubeControllerManagerPort": self._ports.controllers,
            "kubeSchedulerPort": self._ports.scheduler,
            "kwokControllerPort": self._ports.kwok,
            "nodeLeaseDurationSeconds": 40,
            "kubeAuditPolicy": str(LOCKS / "audit.yaml"),
            "enableCRDs": ["Logs", "ClusterLogs"],
            **{key: str(self._built.program(program)) for key, program in binaries.items()},
        }

    def _patches(self) -> list[dict[str, Any]]:
        """Arguments of the components. kwokctl signs everything with one authority, so the aggregated APIs' proxy must
        be told by name."""
        authority = str(self._places.cluster / "pki" / "ca.crt")
        arguments = {
            "kube-apiserver": {
                "endpoint-reconciler-type": "none",
                "requestheader-client-ca-file": authority,
                "requestheader-allowed-names": "kwok-admin",
                "requestheader-extra-headers-prefix": "X-Remote-Extra-",
                "requestheader-group-headers": "X-Remote-Group",
                "requestheader-username-headers": "X-Remote-User",
                "default-not-ready-toleration-seconds": TOLERATED,
                "default-unreachable-toleration-seconds": TOLERATED,
            },
            "kube-controller-manager": {"use-service-account-credentials": "true", "leader-elect": "false"},
            "kube-scheduler": {"leader-elect": "false"},
        }
        return [
            {"name": name, "extraArgs": [{"key": key, "value": value} for key, value in pairs.items()]}
            for name, pairs in arguments.items()
        ]


def why(places: Places) -> str:
    """The last error of whichever component said one, or kwokctl's last line."""
    for name in ("kube-apiserver", "etcd", "kube-controller-manager", "kube-scheduler", "kwok-controller"):
        for line in reversed(_lines(places.logs / f"{name}.log")):
            if line.startswith(("E", "F", "Error", "panic")) or '"level":"fatal"' in line:
                return f"{name}: {line[:300]}"
    lines = _lines(places.folder / "kwokctl.log")
    return lines[-1][:300] if lines else "it said nothing"


def _lines(file: Path) -> list[str]:
    try:
        return file.read_bytes()[-20_000:].decode(errors="replace").strip().splitlines()
    except OSError:
        return []
