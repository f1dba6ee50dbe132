"""Of each object the fields Turno reads, and a hash that changes with its content and with nothing else."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from portal.cluster import content, names
from portal.cluster.port import RESOURCES, JsonObject
from tests.cluster.objects import made, ours

WIRE = Path(__file__).parents[2].parent / "shared" / "cases" / "kubernetes" / "wire.jsonl"


def recorded(name: str) -> JsonObject:
    for line in WIRE.read_text().splitlines():
        exchange = json.loads(line)
        if exchange["id"] == name:
            found: JsonObject = exchange["response"]
            return found
    raise KeyError(name)


def test_secrets_are_never_mirrored() -> None:
    assert "Secret" not in content.MIRRORED
    assert RESOURCES.keys() > content.MIRRORED


def test_kinds_of_ours_are_watched_by_our_labels_and_the_others_whole() -> None:
    assert content.selector("Pod", "lab") == "app.kubernetes.io/managed-by=turno,turno.dev/instance=lab"
    assert content.selector("Workload", "lab") == ""
    assert not content.OURS_ONLY & content.WHOLE


needs_record = pytest.mark.skipif(not WIRE.exists(), reason="the recorded exchanges lie beside the repository")


@needs_record
def test_a_recorded_pod_is_kept_small_and_says_what_matters() -> None:
    pod = recorded("pod-running")
    kept = content.trim(pod)

    assert len(json.dumps(kept)) < len(json.dumps(pod)) / 2
    assert kept["status"]["phase"] == "Running"
    assert kept["spec"]["nodeName"] == "gpu-2"
    assert kept["spec"]["containers"] == [{"name": "main"}]
    assert "managedFields" not in json.dumps(kept)
    assert {condition["type"] for condition in kept["status"]["conditions"]} >= {"Ready"}
    assert content.owner_uid(pod) == pod["metadata"]["ownerReferences"][0]["uid"]


@needs_record
@pytest.mark.parametrize(
    ("name", "state"),
    [
        ("workload-pending", "pending"),
        ("workload-admitted", "reserved"),
        ("workload-finished", "finished"),
        ("workload-preempted", "pending"),
        ("workload-deactivated", "inactive"),
        ("workload-exceeds-maximum", "pending"),
    ],
)
def test_the_state_of_a_recorded_kueue_workload(name: str, state: str) -> None:
    workload = recorded(name)

    assert content.state(workload) == state
    assert content.job_uid(workload) == workload["metadata"]["labels"]["kueue.x-k8s.io/job-uid"]
    assert content.trim(workload)["status"] == workload["status"]


@needs_record
def test_a_pod_groups_workload_belongs_to_the_set_and_not_to_its_pod() -> None:
    workload = recorded("workloads-of-pod-based")["items"][1]
    owners = {owner["kind"]: owner["uid"] for owner in workload["metadata"]["ownerReferences"]}

    assert content.job_uid(workload) == owners["StatefulSet"]


def test_a_kueue_workload_without_its_label_is_found_by_its_owner() -> None:
    assert content.job_uid(made("Workload", "w", owner=("Pod", "pod"))) == "pod"
    assert content.job_uid(made("Workload", "w")) == ""


def job() -> JsonObject:
    template = {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "main", "image": "x:1"}]}}
    return made("Job", "a", labels=ours(), spec={"suspend": True, "parallelism": 2, "template": template})


def change(path: str, value: object) -> Callable[[JsonObject], JsonObject]:
    def changed(obj: JsonObject) -> JsonObject:
        obj = copy.deepcopy(obj)
        here: Any = obj
        *way, last = path.split("/")
        for step in way:
            here = here.setdefault(step, {})
        here[last] = value
        return obj

    return changed


@pytest.mark.parametrize(
    "mutation",
    [
        change("spec/suspend", value=False),
        change("spec/parallelism", 1),
        change("spec/template/metadata/labels", {"kueue.x-k8s.io/podset": "main"}),
        change("spec/template/spec/nodeSelector", {"nvidia.com/gpu.product": "H100"}),
        change("spec/template/spec/tolerations", [{"operator": "Exists"}]),
        change("status", {"active": 1}),
        change("metadata/resourceVersion", "9"),
        change("metadata/managedFields", [{"manager": "kueue"}]),
        change("metadata/annotations", {"kubectl.kubernetes.io/last-applied-configuration": "{}"}),
    ],
)
def test_what_kueue_and_kubernetes_own_is_no_change_of_content(mutation: Callable[[JsonObject], JsonObject]) -> None:
    assert content.content_hash(mutation(job())) == content.content_hash(job())


@pytest.mark.parametrize(
    "mutation",
    [
        change("metadata/labels", ours() | {"extra": "1"}),
        change("metadata/annotations", {"note": "1"}),
        change("spec/completions", 3),
        change("spec/template/spec/containers", [{"name": "main", "image": "x:2"}]),
    ],
)
def test_a_change_of_labels_annotations_or_spec_is_one(mutation: Callable[[JsonObject], JsonObject]) -> None:
    assert content.content_hash(mutation(job())) != content.content_hash(job())


def test_content_without_a_spec_counts_too() -> None:
    one, two = made("ConfigMap", "a", data={"x": "1"}), made("ConfigMap", "a", data={"x": "2"})

    assert content.content_hash(one) != content.content_hash(two)


def test_a_bound_volume_is_the_same_claim() -> None:
    claim = made("PersistentVolumeClaim", "home", labels=ours(), spec={"resources": {}})
    bound = change("metadata/annotations", {"pv.kubernetes.io/bind-completed": "yes"})(claim)

    bound = change("spec/storageClassName", "standard")(change("spec/volumeMode", "Filesystem")(bound))

    assert content.content_hash(change("spec/volumeName", "pv-1")(bound)) == content.content_hash(claim)


def test_long_annotations_of_others_do_not_fill_the_mirror() -> None:
    noisy = made("Node", "n", spec={}, status={})
    noisy["metadata"]["annotations"] = {"big": "x" * 10_000, "small": "y"}

    assert content.trim(noisy)["metadata"]["annotations"] == {"small": "y"}


def test_a_priority_class_keeps_its_value_and_an_event_what_it_is_about() -> None:
    assert content.trim(made("WorkloadPriorityClass", "high", value=1000))["value"] == 1000
    about = {"uid": "u", "kind": "Pod"}
    event = made("Event", "e", involvedObject=about, reason="Pulled", message="m", count=3)
    assert content.trim(event)["involvedObject"] == about
    assert content.owner_uid(event) == "u"


@pytest.mark.parametrize("kind", sorted(content.MIRRORED))
def test_an_object_with_nothing_but_a_name_is_kept_without_a_fault(kind: str) -> None:
    bare: JsonObject = {"kind": kind, "apiVersion": RESOURCES[kind].api_version, "metadata": {"name": "a"}}
    empty = {**bare, "spec": None, "status": None}
    for obj in (bare, empty):
        kept = content.trim(obj)
        assert kept["metadata"] == {"name": "a"}
        assert content.content_hash(obj)
        assert content.owner_uid(obj) == content.job_uid(obj) == ""


def test_our_labels_are_those_of_this_instance() -> None:
    assert names.is_ours(ours(), "turno")
    assert not names.is_ours(ours(), "other")
    assert not names.is_ours(None, "turno")
