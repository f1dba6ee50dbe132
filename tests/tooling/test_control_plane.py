"""The local control plane: what is looked for, what is refused in one line, and what is taken away again."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from deploy.control_plane import building, toolchain
from deploy.control_plane.dataplane import seen
from deploy.control_plane.failures import Refusal
from deploy.control_plane.kubernetes import LOGS, STAGES
from deploy.control_plane.kueue import adapted
from deploy.control_plane.places import Places, Ports
from deploy.control_plane.plane import down, furniture
from portal.cluster.kube import Connection, KubeGateway
from portal.cluster.port import ObjectRef
from tests.cluster.loopback import simulated
from tests.tooling.processes import ROOT

PORTS = Ports(*range(1001, 1011))


def a_go(folder: Path, says: str) -> Path:
    folder.mkdir()
    program = folder / "go"
    program.write_text(f"#!/bin/sh\necho '{says}'\n")
    program.chmod(0o755)
    return program


@pytest.fixture
def no_usual_place(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(toolchain, "USUAL_PLACE", tmp_path / "nowhere")


@pytest.mark.usefixtures("no_usual_place")
def test_the_right_go_is_found_on_the_path_or_by_name(tmp_path: Path) -> None:
    right = a_go(tmp_path / "right", "go version go1.26.8 linux/amd64")

    assert toolchain.go({"PATH": str(right.parent)}) == right
    assert toolchain.go({"PATH": "", "GO": str(right)}) == right


@pytest.mark.usefixtures("no_usual_place")
def test_no_go_and_a_wrong_go_are_one_line_each(tmp_path: Path) -> None:
    wrong = a_go(tmp_path / "wrong", "go version go1.27.0 linux/amd64")

    with pytest.raises(Refusal, match=r"^Go 1\.26 builds the control plane, and no Go is here: install it"):
        toolchain.go({"PATH": str(tmp_path)})
    with pytest.raises(Refusal, match=r"and .*wrong/go is 1\.27: install it"):
        toolchain.go({"PATH": str(wrong.parent)})
    with pytest.raises(Refusal, match="nobody is not a Go"):
        toolchain.go({"PATH": str(wrong.parent), "GO": "/nobody"})


def test_make_cluster_without_go_ends_with_one_line(tmp_path: Path) -> None:
    around = {"PATH": "", "HOME": str(tmp_path), "XDG_CACHE_HOME": str(tmp_path), "GO": "/nobody"}
    around |= {"TURNO_CLUSTER_FOLDER": str(tmp_path / "cluster")}

    told = subprocess.run(
        [sys.executable, "-m", "deploy.control_plane", "up"],
        cwd=ROOT,
        env={**os.environ, **around},
        capture_output=True,
        text=True,
        check=False,
    )

    assert told.returncode == 1
    [line] = told.stderr.splitlines()
    assert line.startswith("turno: Go 1.26 builds the control plane")
    assert not (tmp_path / "cluster").exists()


def test_a_build_is_named_by_its_locks(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    before = building.key()
    for lock in ("etcd", "kubernetes", "kueue", "kwok"):
        (tmp_path / lock).mkdir()
        for name in ("go.mod", "go.sum"):
            (tmp_path / lock / name).write_bytes((building.LOCKS / lock / name).read_bytes())
    monkeypatch.setattr(building, "LOCKS", tmp_path)
    assert building.key() == before

    with (tmp_path / "kueue" / "go.sum").open("a") as file:
        file.write("\n")

    assert building.key() != before


def test_every_tool_is_locked_by_its_hash() -> None:
    for tool in building.TOOLS:
        lock = building.LOCKS / tool.lock
        assert tool.package in (lock / "go.mod").read_text()
        assert (lock / "go.sum").stat().st_size > 0


def test_ports_differ_and_a_taken_one_is_told() -> None:
    ports = Ports.free()
    assert len(set(vars(ports).values())) == len(vars(ports))
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        with pytest.raises(OSError, match="in use"):
            Ports.free(taken.getsockname()[1])


def test_what_was_written_at_the_start_is_read_again(tmp_path: Path) -> None:
    places = Places(tmp_path)
    assert places.recall() is None

    places.remember(PORTS, "build")
    assert places.recall() == (PORTS, "build")

    places.state.write_text("{")
    assert places.recall() is None


def test_somebody_elses_folder_is_left_as_it_is(tmp_path: Path) -> None:
    (tmp_path / "thesis.txt").write_text("years of work")

    with pytest.raises(Refusal, match="no control plane's folder"):
        down(Places(tmp_path))

    assert (tmp_path / "thesis.txt").exists()


def test_a_folder_of_ours_goes_with_everything_in_it(tmp_path: Path) -> None:
    places = Places(tmp_path / "cluster")
    places.logs.mkdir(parents=True)
    (places.logs / "etcd.log").write_text("x")
    (places.folder / "link").symlink_to(tmp_path)
    places.remember(PORTS, "build")

    down(places)

    assert not places.folder.exists()
    assert tmp_path.exists()


def test_whoever_only_names_the_folder_is_not_ended(tmp_path: Path) -> None:
    idle = subprocess.Popen([sys.executable, "-c", "input()", str(tmp_path)], stdin=subprocess.PIPE)
    try:
        assert Places(tmp_path).processes() == []
    finally:
        idle.communicate()


def test_kueues_objects_point_at_the_manager_outside() -> None:
    service = {"name": "kueue-webhook-service", "namespace": "kueue-system", "path": "/x"}
    objects: list[Any] = [
        {"kind": "Deployment", "metadata": {"name": "manager"}},
        {"kind": "ConfigMap", "metadata": {"name": "manager-config"}},
        {"kind": "Service", "metadata": {"name": "kueue-metrics"}, "spec": {}},
        {"kind": "Service", "metadata": {"name": "kueue-webhook-service"}, "spec": {"ports": [1]}},
        {"kind": "APIService", "metadata": {"name": "v1beta2"}, "spec": {"service": {"port": 443}}},
        {
            "kind": "ValidatingWebhookConfiguration",
            "metadata": {"name": "w"},
            "webhooks": [{"clientConfig": {"service": dict(service)}}],
        },
        {
            "kind": "CustomResourceDefinition",
            "metadata": {"name": "c"},
            "spec": {"conversion": {"webhook": {"clientConfig": {"service": dict(service)}}}},
        },
        {"kind": "CustomResourceDefinition", "metadata": {"name": "d"}, "spec": {}},
        None,
    ]

    found = adapted(objects, PORTS)

    assert [one["kind"] for one in found[:2]] == ["CustomResourceDefinition"] * 2
    by_kind = {one["kind"]: one for one in found if one["metadata"]["name"] != "d"}
    assert set(by_kind) == {"Service", "APIService", "ValidatingWebhookConfiguration", "CustomResourceDefinition"}
    assert by_kind["Service"]["spec"] == {"type": "ExternalName", "externalName": "localhost"}
    assert by_kind["APIService"]["spec"]["service"]["port"] == PORTS.visibility
    [webhook] = by_kind["ValidatingWebhookConfiguration"]["webhooks"]
    assert webhook["clientConfig"]["service"]["port"] == PORTS.webhook
    conversion = by_kind["CustomResourceDefinition"]["spec"]["conversion"]["webhook"]
    assert conversion["clientConfig"]["service"]["port"] == PORTS.webhook


def test_stages_are_objects_with_names_of_their_own() -> None:
    found = [one for name in (*STAGES, LOGS) for one in yaml.safe_load_all((building.LOCKS / name).read_text())]

    names = [(one["kind"], one["metadata"]["name"]) for one in found]
    assert len(set(names)) == len(names)
    assert {kind for kind, _ in names} == {"Stage", "ClusterLogs"}


def test_the_cluster_has_the_four_card_server_and_disks() -> None:
    found = list(furniture())

    nodes = {one["metadata"]["name"]: one["status"]["capacity"] for one in found if one["kind"] == "Node"}
    assert nodes["gpu-1"]["nvidia.com/gpu"] == "3"
    assert nodes["gpu-1"]["nvidia.com/mig-1g.10gb"] == "4"
    volumes = [one for one in found if one["kind"] == "PersistentVolume"]
    assert {one["spec"]["storageClassName"] for one in volumes} == {"disks"}


def test_the_data_plane_sees_what_is_on_the_cluster_and_no_pod_that_is_going() -> None:
    labels = {"turno.dev/instance": "turno"}

    def pod(name: str, **metadata: Any) -> dict[str, Any]:
        told = {"name": name, "namespace": "default", "labels": labels, **metadata}
        spec = {"containers": [{"name": "main", "image": "x"}]}
        return {"apiVersion": "v1", "kind": "Pod", "metadata": told, "spec": spec}

    with simulated() as cluster:
        gateway = KubeGateway(Connection(cluster.address), manager="suite")
        stays = gateway.create(pod("stays"))
        goes = gateway.create(pod("goes", finalizers=["turno.dev/hold"]))
        gateway.delete(ObjectRef("Pod", "goes", "default"), uid=goes["metadata"]["uid"])

        found = list(seen(gateway).scan("Pod"))

    assert [one["metadata"]["uid"] for one in found] == [stays["metadata"]["uid"]]
