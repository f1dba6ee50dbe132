"""The real Kueue manager, outside the cluster: a process on the loopback address that the API server is pointed at."""

import base64
import json
import os
import shutil
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import Any

import yaml

from deploy.control_plane.building import LOCKS, Built
from deploy.control_plane.failures import Refusal
from deploy.control_plane.kubernetes import Kubernetes
from deploy.control_plane.places import Places, Ports

NAMESPACE, ACCOUNT, SECRET = "kueue-system", "kueue-controller-manager", "kueue-webhook-server-cert"
STARTS_WITHIN = 60.0
OWN = {"POD_NAMESPACE": NAMESPACE, "HOME": "/tmp", "TMPDIR": "/tmp"}  # noqa: S108  of its own root
CERTIFICATES = ("tls.crt", "tls.key", "ca.crt")
FIRST = ("Namespace", "CustomResourceDefinition", "ServiceAccount")
# The answer of the webhooks is the proof: they refuse everything while the manager is not there.
PROBE = {"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "ResourceFlavor", "metadata": {"name": "probe"}}


class Kueue:
    """The manager of one control plane. It believes that its files are the whole file system: the visibility server
    writes its certificate to a path of its own choice, which must not be this machine's."""

    def __init__(self, built: Built, places: Places, ports: Ports, kubernetes: Kubernetes) -> None:
        self._built, self._places, self._ports, self._kubernetes = built, places, ports, kubernetes
        self._process: subprocess.Popen[bytes] | None = None

    def install(self) -> None:
        """Its kinds, rights and webhooks, then its files: once per control plane."""
        objects = adapted(list(yaml.load_all(self._built.kueue_objects.read_text(), yaml.CSafeLoader)), self._ports)
        text = yaml.dump_all(objects, Dumper=yaml.CSafeDumper)
        self._kubernetes.kubectl("apply", "--server-side", "--force-conflicts", "-f", "-", given=text)
        root = self._places.kueue
        for name in ("certs", "visibility", "tmp"):
            (root / name).mkdir(parents=True, exist_ok=True)
        self._copy_manager(root / "manager")
        (root / "config.yaml").write_text(yaml.safe_dump(self._configuration()))
        (root / "kubeconfig").write_text(self._kubeconfig())

    def start(self) -> None:
        """Returns when the webhooks answer. Refusal with its last error where they do not."""
        with self._places.kueue_log.open("ab") as output:
            self._process = process = subprocess.Popen(
                [*self._rooted(), "/manager", "--config=/config.yaml", "--kubeconfig=/kubeconfig", "--zap-log-level=2"],
                env={**OWN, "PATH": os.environ.get("PATH", "")},
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                start_new_session=True,
            )
        self._until(process, self._has_certificate, "it made no certificate")
        self._until(process, self.is_ready, "it is not ready")
        self._until(process, self.webhooks_answer, "its webhooks do not answer")

    def stop(self) -> None:
        """It may spin and not mind SIGTERM when its API server is away: it is ended for certain, and first."""
        self._places.end(self._places.processes("manager"))
        if self._process is not None:
            self._process.wait()

    def is_ready(self) -> bool:
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{self._ports.health}/readyz", timeout=2) as answer:
                return bool(answer.status == 200)
        except (urllib.error.URLError, OSError):
            return False

    def webhooks_answer(self) -> bool:
        try:
            self._kubernetes.kubectl("create", "--dry-run=server", "-f", "-", given=json.dumps(PROBE))
        except (Refusal, subprocess.TimeoutExpired):
            return False
        return True

    def _copy_manager(self, target: Path) -> None:
        """Its program is found by where it is: each control plane has a name of its own for it."""
        target.unlink(missing_ok=True)
        try:
            target.hardlink_to(self._built.program("kueue"))
        except OSError:
            shutil.copy2(self._built.program("kueue"), target)

    def _rooted(self) -> list[str]:
        """The words before a command whose root is our folder; without rights of root, in a user namespace."""
        root = str(self._places.kueue)
        if os.geteuid() == 0:
            return ["chroot", root]
        return ["unshare", "--user", "--map-root-user", "chroot", root]

    def _configuration(self) -> dict[str, Any]:
        here = "127.0.0.1"
        told: dict[str, Any] = yaml.safe_load((LOCKS / "kueue.yaml").read_text())
        told["health"] = {"healthProbeBindAddress": f"{here}:{self._ports.health}"}
        told["metrics"] = {"bindAddress": f"{here}:{self._ports.metrics}", "enableClusterQueueResources": True}
        told["webhook"] = {"host": here, "port": self._ports.webhook, "certDir": "/certs"}
        told["visibilityServer"] = {"bindAddress": here, "bindPort": self._ports.visibility}
        return told

    def _kubeconfig(self) -> str:
        """The administrator's address with the token of Kueue's own account: it runs with no more than its rights."""
        token = self._kubernetes.kubectl("-n", NAMESPACE, "create", "token", ACCOUNT, "--duration=720h").strip()
        told = yaml.safe_load(self._kubernetes.kubectl("config", "view", "--raw", "--minify", "--flatten"))
        told["users"] = [{"name": ACCOUNT, "user": {"token": token}}]
        told["contexts"][0]["context"]["user"] = ACCOUNT
        return yaml.safe_dump(told)

    def _has_certificate(self) -> bool:
        """Does the kubelet's part: what the manager put into its Secret is laid where it looks for files."""
        try:
            told = json.loads(self._kubernetes.kubectl("-n", NAMESPACE, "get", "secret", SECRET, "-o", "json"))
        except Refusal:
            return False
        data = told.get("data") or {}
        if not all(data.get(name) for name in CERTIFICATES):
            return False
        for name in CERTIFICATES:
            aside = self._places.kueue / "certs" / f"{name}.new"
            aside.write_bytes(base64.b64decode(data[name]))
            aside.replace(aside.with_suffix(""))
        return True

    def _until(self, process: subprocess.Popen[bytes], holds: Callable[[], bool], otherwise: str) -> None:
        limit = time.monotonic() + STARTS_WITHIN
        while not holds():
            if process.poll() is not None or time.monotonic() > limit:
                raise Refusal(f"Kueue does not start: {otherwise}; all it said is in {self._places.kueue_log}")
            time.sleep(0.4)


def adapted(objects: list[Any], ports: Ports) -> list[dict[str, Any]]:
    """Kueue's own objects for a manager that is no pod: without its Deployment and configuration, its Services are
    names for this machine, and whoever calls one is told the port."""
    kept = [one for one in objects if one and not _is_of_the_pod(one)]
    for one in kept:
        _point_here(one, ports)
    return sorted(kept, key=lambda one: FIRST.index(one["kind"]) if one["kind"] in FIRST else len(FIRST))


def _is_of_the_pod(one: dict[str, Any]) -> bool:
    return one["kind"] in {"Deployment", "ConfigMap"} or (
        one["kind"] == "Service" and "metrics" in one["metadata"]["name"]
    )


def _point_here(one: dict[str, Any], ports: Ports) -> None:
    kind = one["kind"]
    if kind == "Service":
        one["spec"] = {"type": "ExternalName", "externalName": "localhost"}
    elif kind == "APIService":
        one["spec"]["service"]["port"] = ports.visibility
    elif kind.endswith("WebhookConfiguration"):
        for webhook in one["webhooks"]:
            webhook["clientConfig"]["service"]["port"] = ports.webhook
    elif kind == "CustomResourceDefinition":
        client = ((one["spec"].get("conversion") or {}).get("webhook") or {}).get("clientConfig") or {}
        if "service" in client:
            client["service"]["port"] = ports.webhook
