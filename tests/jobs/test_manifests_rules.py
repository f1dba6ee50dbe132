"""Rules that hold for every object of every variant: names, labels, pod security, devices, secrets."""

from __future__ import annotations

import base64
import re
from typing import Any
from uuid import UUID

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jobs.manifests import names, secrets
from jobs.manifests.catalogue import BUILDERS, render
from jobs.manifests.plan import ClusterPlan, ImagePlan
from jobs.manifests.secrets import Derived, KeyMissing
from portal.cluster import names as cluster_names
from tests.factories import jobs
from tests.jobs.plans import NO_GPU, WORKLOAD, container, env, made, plan

KINDS = {"notebook/jupyterlab": "notebook", "training/job": "training", "training/indexed": "training"}
KEEPERS = {"notebook": "StatefulSet", "training": "Job", "endpoint": "Deployment"}


def everything(kind: str, **changes: Any) -> list[dict[str, Any]]:
    return [one.manifest for one in render(plan(kind, **changes))]


@pytest.mark.parametrize("kind", KEEPERS)
@pytest.mark.parametrize("run", [1, 99999])
def test_names_are_short_whatever_was_asked(kind: str, run: int) -> None:
    for manifest in everything(kind, name="n" + "x" * 62, run=run):
        assert len(manifest["metadata"]["name"]) <= 36
        for value in manifest["metadata"]["labels"].values():
            assert len(value) <= 63
    indexed = everything("training", framework="indexed", nodes=4, name="n" + "x" * 62)
    assert len(indexed[-1]["metadata"]["name"]) + len("-11") <= 63


@given(st.from_regex(r"[a-z]([a-z0-9-]{0,61}[a-z0-9])?", fullmatch=True), st.uuids(version=4))
@settings(max_examples=200)
def test_every_name_gives_names_that_kubernetes_takes(name: str, workload_id: UUID) -> None:
    label = re.compile(r"[a-z]([a-z0-9-]*[a-z0-9])?")
    for made_name in (
        names.stem(name, workload_id),
        names.of_run(name, workload_id, 12),
        names.home_claim(name, workload_id),
    ):
        assert label.fullmatch(made_name)
        assert len(made_name) <= 36
    assert len(names.notebook_host(name, workload_id, "localhost").split(".")[0]) <= 63


@pytest.mark.parametrize("kind", KEEPERS)
def test_ours_is_on_everything_and_the_run_on_what_belongs_to_it(kind: str) -> None:
    for one in render(plan(kind, labels={"cost": "a"})):
        labels = one.manifest["metadata"]["labels"]
        assert cluster_names.is_ours(labels, "turno")
        assert labels["turno.dev/workload"] == str(WORKLOAD)
        assert labels["cost"] == "a"
        assert ("turno.dev/run" in labels) is not one.owned_by_workload
        assert ("kueue.x-k8s.io/queue-name" in labels) is not one.owned_by_workload


@pytest.mark.parametrize("kind", KEEPERS)
def test_the_tenants_labels_stay_off_its_pods(kind: str) -> None:
    template = made(kind, labels={"cost": "a"})[KEEPERS[kind]]["spec"]["template"]
    assert "cost" not in template["metadata"]["labels"]


@pytest.mark.parametrize("kind", KEEPERS)
def test_pods_meet_the_restricted_standard(kind: str) -> None:
    pod = made(kind)[KEEPERS[kind]]["spec"]["template"]["spec"]
    assert pod["securityContext"]["runAsNonRoot"] is True
    assert pod["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
    assert pod["automountServiceAccountToken"] is False
    for one in pod["containers"]:
        assert one["securityContext"] == {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}}
        assert one["resources"]["requests"] == one["resources"]["limits"]
    for field in ("hostNetwork", "hostPID", "hostIPC", "nodeName", "initContainers", "runtimeClassName"):
        assert field not in pod
    for volume in pod.get("volumes", []):
        assert set(volume) - {"name"} <= {"emptyDir", "persistentVolumeClaim"}


class TestDevices:
    @pytest.mark.parametrize("kind", KEEPERS)
    def test_a_pod_without_gpu_sees_none_whatever_its_image_says(self, kind: str) -> None:
        image = ImagePlan("x.example/y:1", env={"NVIDIA_VISIBLE_DEVICES": "all", "KEPT": "1"})
        keeper = render(plan(kind, on=NO_GPU, flavor="cpu", gpus=0, image_plan=image))[-1].manifest
        assert env(keeper)["NVIDIA_VISIBLE_DEVICES"] == "void"
        assert env(keeper)["KEPT"] == "1"
        assert set(container(keeper)["resources"]["limits"]) == {"cpu", "memory"}

    @pytest.mark.parametrize("kind", KEEPERS)
    def test_with_gpu_no_variable_widens_what_the_device_plugin_gives(self, kind: str) -> None:
        image = ImagePlan("x.example/y:1", env={"NVIDIA_VISIBLE_DEVICES": "all", "CUDA_VISIBLE_DEVICES": "0,1"})
        found = env(made(kind, image_plan=image)[KEEPERS[kind]])
        assert not {"NVIDIA_VISIBLE_DEVICES", "CUDA_VISIBLE_DEVICES"} & set(found)


class TestImage:
    def test_the_row_gives_user_home_command_and_writable_paths(self) -> None:
        image = ImagePlan(
            "x.example/y@sha256:" + "a" * 64,
            uid=1234,
            gid=100,
            home="/home/jovyan",
            command=("start.sh",),
            writable_paths=("/var/cache", "/dev/shm"),
            env={"LANG": "C"},
        )
        job = made("training", image_plan=image, command=[])["Job"]
        pod = job["spec"]["template"]["spec"]
        assert container(job)["image"] == image.reference
        assert container(job)["command"] == ["start.sh"]
        assert (pod["securityContext"]["runAsUser"], pod["securityContext"]["fsGroup"]) == (1234, 100)
        assert env(job) == {"HOME": "/home/jovyan", "LANG": "C"}
        mounts = [mount["mountPath"] for mount in container(job)["volumeMounts"]]
        assert mounts == ["/dev/shm", "/var/cache"]

    def test_what_the_tenant_says_wins_over_the_image_and_the_platform_over_both(self) -> None:
        image = ImagePlan("x.example/y:1", env={"A": "image", "B": "image"})
        job = made("training", image_plan=image, env={"A": "tenant"}, framework="indexed", nodes=2)["Job"]
        assert (env(job)["A"], env(job)["B"]) == ("tenant", "image")
        assert env(job)["NNODES"] == "2"

    def test_a_command_replaces_the_images(self) -> None:
        image = ImagePlan("x.example/y:1", command=("start.sh",))
        assert container(made("training", image_plan=image)["Job"])["command"] == ["python", "train.py"]


def test_an_earlier_home_is_used_whatever_names_look_like_now() -> None:
    found = made("notebook", claim="old-name-home")
    assert found["PersistentVolumeClaim"]["metadata"]["name"] == "old-name-home"
    volumes = found["StatefulSet"]["spec"]["template"]["spec"]["volumes"]
    assert volumes[0]["persistentVolumeClaim"] == {"claimName": "old-name-home"}


def test_a_cluster_with_its_own_class_and_host() -> None:
    cluster = ClusterPlan(
        "turno",
        "gw",
        "infra",
        "nb.example.org",
        endpoint_host="ai.example.org",
        auth_filter=jobs.AUTH_FILTER,
        storage_class="fast",
    )
    assert made("notebook", cluster=cluster)["PersistentVolumeClaim"]["spec"]["storageClassName"] == "fast"
    assert made("endpoint", cluster=cluster)["HTTPRoute"]["spec"]["hostnames"] == ["ai.example.org"]


class TestDerivedTokens:
    KEYS = {"k1": "one", "k2": "two"}

    def test_a_token_follows_from_key_purpose_workload_and_rotation(self) -> None:
        other = UUID(int=1)
        base = Derived("endpoint", "k1", 1)
        found = {
            secrets.token(base, WORKLOAD, self.KEYS),
            secrets.token(Derived("notebook", "k1", 1), WORKLOAD, self.KEYS),
            secrets.token(Derived("endpoint", "k2", 1), WORKLOAD, self.KEYS),
            secrets.token(Derived("endpoint", "k1", 2), WORKLOAD, self.KEYS),
            secrets.token(base, other, self.KEYS),
        }
        assert len(found) == 5
        assert secrets.token(base, WORKLOAD, self.KEYS) == secrets.token(base, WORKLOAD, dict(self.KEYS))
        assert all(re.fullmatch(r"[A-Za-z0-9_-]{43}", one) for one in found)

    def test_an_unknown_server_key_is_an_error(self) -> None:
        with pytest.raises(KeyMissing):
            secrets.token(Derived("endpoint", "gone", 1), WORKLOAD, self.KEYS)

    @pytest.mark.parametrize("text", ["", "x", "turno.dev/derived:a:b", "turno.dev/derived:a:b:c", None, 7])
    def test_only_markers_are_markers(self, text: object) -> None:
        assert secrets.read_marker(text) is None

    def test_a_secret_is_filled_and_everything_else_left(self) -> None:
        secret = made("endpoint")["Secret"]
        filled = secrets.filled(secret, WORKLOAD, self.KEYS)
        plain = base64.b64decode(filled["data"]["key"]).decode()
        assert plain == secrets.token(Derived("endpoint", "k1", 1), WORKLOAD, self.KEYS)
        assert secret["data"] == {"key": "turno.dev/derived:endpoint:k1:1"}
        service = made("endpoint")["Service"]
        assert secrets.filled(service, WORKLOAD, self.KEYS) == service


def test_every_variant_is_looked_at_here() -> None:
    assert set(BUILDERS) == {*KINDS, "endpoint/vllm-plain"}
