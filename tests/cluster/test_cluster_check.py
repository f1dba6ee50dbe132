"""`manage.py cluster check`: what it asks of a cluster, and the sentences that it makes of the answers."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from io import StringIO
from typing import Any

import pytest
import yaml
from django.core.management import CommandError, call_command
from django.utils import translation
from pytest_django.fixtures import Settings

from portal.cluster import checkup, rights
from portal.cluster.checkup import OPERATORS, Facts, Level
from portal.cluster.factory import inspector
from portal.cluster.models import Cluster, MirrorObject
from portal.cluster.port import JsonObject, Missing, Right
from portal.kernel import clock
from tests.cluster.loopback import Loopback, simulated
from tests.factories import cluster as factories
from tests.tooling.kubernetes_files import installed

EVERYTHING = frozenset(kind for _, kind, _, _ in OPERATORS)
ROLES = {
    one["metadata"]["name"]: {
        (group, resource, verb)
        for rule in one["rules"]
        for group in rule["apiGroups"]
        for resource in rule["resources"]
        for verb in rule["verbs"]
    }
    for one in installed()
    if one["kind"] == "ClusterRole"
}


@pytest.fixture(scope="module")
def engine() -> Iterator[Loopback]:
    with simulated() as running:
        yield running


@pytest.fixture
def cluster(db: None) -> Cluster:
    return factories.cluster()


def good(**fields: Any) -> Facts:
    values: dict[str, Any] = {
        "version": "v1.36.1",
        "seconds_off": 0.0,
        "kinds": EVERYTHING,
        "kueue_version": "v0.17.0",
        "kueue_settings": {"integrations": {"frameworks": ["batch/job", "pod"]}},
        "portal_namespace": "turno",
        "portal_labels": {"kubernetes.io/metadata.name": "turno"},
    }
    return Facts(**{**values, **fields})


def told(facts: Facts, *levels: Level) -> list[str]:
    return [one.text() for one in checkup.judge(facts) if one.level in (levels or (Level.WARNING, Level.FAULT))]


def test_nothing_is_wrong_with_a_whole_cluster() -> None:
    assert told(good()) == []
    assert "Kueue governs: batch/job, pod." in told(good(), Level.NOTE)


@pytest.mark.parametrize(
    ("version", "words"),
    [
        ("v1.33.9", ["Kubernetes is v1.33.9; Turno is tested with 1.34 to 1.36."]),
        ("v1.37.0", ["Kubernetes is v1.37.0; Turno is tested with 1.34 to 1.36."]),
        ("", ["Kubernetes is ; Turno is tested with 1.34 to 1.36."]),
        ("v1.34.0-eks-1", []),
    ],
)
def test_versions_outside_of_the_tested_ones_warn(version: str, words: list[str]) -> None:
    assert told(good(version=version)) == words


def test_an_old_kueue_warns() -> None:
    assert told(good(kueue_version="v0.16.3")) == ["Kueue is v0.16.3; Turno is tested with 0.17 to 0.19."]


@pytest.mark.parametrize(("name", "kind", "level", "loss"), OPERATORS)
def test_what_is_missing_says_what_it_costs(name: str, kind: str, level: Level, loss: str) -> None:
    assert f"{name} is not there: {loss}." in told(good(kinds=EVERYTHING - {kind}), level)


def test_what_cannot_be_read_is_said_and_is_no_fault() -> None:
    facts = good(kueue_version=None, kueue_settings=None, seconds_off=None)
    assert told(facts) == []
    assert len(told(facts, Level.NOTE)) == 3


def test_clocks_that_differ_warn() -> None:
    assert told(good(seconds_off=-90.4)) == ["The server's clock differs from this one by -90 s."]
    assert told(good(seconds_off=1.0)) == []


OTHERS = {"key": "kubernetes.io/metadata.name", "operator": "NotIn", "values": ["kube-system", "kueue-system"]}
NOT_TURNO = {"key": "kubernetes.io/metadata.name", "operator": "NotIn", "values": ["kube-system", "turno"]}
MARKED = {"key": "queued", "operator": "Exists"}


@pytest.mark.parametrize(
    ("everybody", "selector", "held"),
    [
        (True, None, True),
        (True, {"matchExpressions": [OTHERS]}, True),
        (True, {"matchExpressions": [NOT_TURNO]}, False),
        (True, {"matchExpressions": [OTHERS, MARKED]}, False),
        (True, {"matchExpressions": [{**MARKED, "operator": "DoesNotExist"}]}, True),
        (True, {"matchExpressions": [{**OTHERS, "operator": "In"}]}, False),
        (True, {"matchLabels": {"queued": "yes"}}, False),
        (False, None, False),
    ],
)
def test_it_says_before_the_install_breaks_that_kueue_would_hold_turno_back(
    everybody: bool, selector: JsonObject | None, held: bool
) -> None:
    settings = {"manageJobsWithoutQueueName": everybody, "managedJobsNamespaceSelector": selector}
    words = "Kueue would hold back Turno's own processes: take the namespace turno out in its"
    assert told(good(kueue_settings=settings), Level.FAULT) == (
        [f"{words} managedJobsNamespaceSelector."] if held else []
    )


def test_a_missing_right_is_a_fault_with_its_name() -> None:
    lost = (Right("bind", "rbac.authorization.k8s.io", "clusterroles", name="x"), Right("get", "", "pods/log", "t"))
    assert told(good(missing_rights=lost)) == [
        "A right is missing: bind clusterroles.rbac.authorization.k8s.io/x in *.",
        "A right is missing: get pods/log in t.",
    ]


@pytest.mark.parametrize("process", rights.PROCESSES)
def test_the_roles_of_the_install_grant_the_rights_that_are_asked_for_and_no_more(process: str) -> None:
    asked = list(rights.needed(process, ("team",)))
    for role, inside in ((f"turno-{process}", False), (f"turno-tenant-{process}", True)):
        wanted = {(one.group, one.resource, one.verb) for one in asked if bool(one.namespace) is inside}
        assert ROLES.get(role, set()) == wanted


class Door:
    """A server that answers from a table, and refuses some rights."""

    def __init__(self, answers: dict[str, JsonObject], refused: frozenset[str] = frozenset()) -> None:
        self.answers, self.refused = answers, refused

    def look(self, path: str) -> tuple[JsonObject, str]:
        if path not in self.answers:
            raise Missing(path)
        return self.answers[path], (clock.now() + timedelta(seconds=90)).strftime("%a, %d %b %Y %H:%M:%S GMT")

    def allowed(self, right: Right) -> bool:
        return right.resource not in self.refused


def mirror(cluster: Cluster, kind: str, name: str, *, ours: bool = False, **data: Any) -> None:
    MirrorObject.objects.create(
        cluster=cluster, kind=kind, name=name, uid=name, resource_version="1", ours=ours, data=data, seen_at=clock.now()
    )


def test_what_a_server_says_is_gathered_with_what_the_mirror_shows(cluster: Cluster) -> None:
    labels = {"labels": {"nvidia.com/gpu.present": "true"}}
    mirror(cluster, "Node", "bare", metadata=labels, status={"allocatable": {"nvidia.com/gpu": "0"}})
    mirror(cluster, "Node", "good", metadata=labels, status={"allocatable": {"nvidia.com/mig-1g.10gb": "7"}})
    mirror(cluster, "ClusterQueue", "theirs")
    mirror(cluster, "ClusterQueue", "turno-data", ours=True)
    image = {"spec": {"template": {"spec": {"containers": [{"image": "registry/kueue:v0.18.2"}]}}}}
    configuration = {"data": {"controller_manager_config.yaml": yaml.safe_dump({"manageJobsWithoutQueueName": True})}}
    groups = [{"name": "ray.io", "versions": [{"groupVersion": "ray.io/v1"}]}, {"name": "other.io", "versions": [{}]}]
    door = Door(
        {
            "/version": {"gitVersion": "v1.35.0"},
            "/apis": {"groups": groups},
            "/apis/ray.io/v1": {"resources": [{"kind": "RayJob"}]},
            "/apis/apps/v1/namespaces/kueue-system/deployments/kueue-controller-manager": image,
            "/api/v1/namespaces/kueue-system/configmaps/kueue-manager-config": configuration,
        },
        frozenset({"cohorts"}),
    )

    found = checkup.gather(cluster, door, "worker")

    assert found.nodes_without_gpu == ("bare",)
    assert found.foreign_queues == ("theirs",)
    assert found.kinds == {"ray.io/RayJob"}
    assert {right.resource for right in found.missing_rights} == {"cohorts"}
    assert found.kueue_version == "v0.18.2"
    assert found.kueue_settings == {"manageJobsWithoutQueueName": True}
    assert found.seconds_off == pytest.approx(90, abs=2)


def test_the_command_says_that_the_simulated_cluster_is_one(
    cluster: Cluster, engine: Loopback, settings: Settings
) -> None:
    settings.CLUSTER_CONNECTIONS = {cluster.connection: engine.address}
    assert inspector(cluster).allowed(Right("get", "", "pods")) is True
    out = StringIO()

    call_command("cluster", "check", stdout=out)

    lines = out.getvalue().splitlines()
    assert lines[0] == cluster.name
    assert "  note     This is the simulated cluster." in lines
    assert "  ok       Kubernetes is v1.36.1." in lines
    assert "  ok       Kueue is there." in lines
    assert "  note     KServe is not there: endpoints are plain vLLM only." in lines


def test_a_server_that_does_not_answer_is_a_fault(cluster: Cluster, settings: Settings) -> None:
    settings.CLUSTER_CONNECTIONS = {cluster.connection: "http://127.0.0.1:9"}
    out = StringIO()
    with pytest.raises(CommandError, match="1 faults"):
        call_command("cluster", "check", stdout=out)
    assert "  fault    The server does not answer: Unreachable:" in out.getvalue()


def test_a_cluster_that_is_not_there_or_not_reached_from_here_is_said(cluster: Cluster, settings: Settings) -> None:
    settings.CLUSTER_CONNECTIONS = {}
    with pytest.raises(CommandError, match="There is no cluster of that name"):
        call_command("cluster", "check", "--cluster", "nowhere")
    with pytest.raises(CommandError, match="TURNO_CLUSTER_CONNECTIONS of this process has no entry"):
        call_command("cluster", "check", "--cluster", cluster.name)


def test_sentences_are_in_the_readers_language() -> None:
    with translation.override("es"):
        assert "KServe no está: los endpoints son solo vLLM simple." in told(
            good(kinds=EVERYTHING - {"serving.kserve.io/InferenceService"}), Level.NOTE
        )
