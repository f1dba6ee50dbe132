"""`deploy/kubernetes` on a real API server: taken without a warning, and no account may do more than it needs."""

from __future__ import annotations

import json
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from portal.cluster.content import MIRRORED
from portal.cluster.port import RESOURCES, JsonObject
from tenants.manifests import SpaceSpec, space
from tests.cluster_real.conftest import space_spec
from tests.cluster_real.plane import kubeconfig, own_plane
from tests.contract.wire import APPLY, Answer, Wire, collection
from tests.tooling.kubernetes_files import CLUSTER_SCOPED, installed
from tests.tooling.processes import wait_until

pytestmark = pytest.mark.cluster
STRICT = {"dryRun": "All", "fieldValidation": "Strict"}
PLURALS = {
    "Namespace": ("v1", "namespaces"),
    "ConfigMap": ("v1", "configmaps"),
    "ServiceAccount": ("v1", "serviceaccounts"),
    "Service": ("v1", "services"),
    "Deployment": ("apps/v1", "deployments"),
    "Job": ("batch/v1", "jobs"),
    "NetworkPolicy": ("networking.k8s.io/v1", "networkpolicies"),
    "PodDisruptionBudget": ("policy/v1", "poddisruptionbudgets"),
    "ClusterRole": ("rbac.authorization.k8s.io/v1", "clusterroles"),
    "ClusterRoleBinding": ("rbac.authorization.k8s.io/v1", "clusterrolebindings"),
    "ValidatingAdmissionPolicy": ("admissionregistration.k8s.io/v1", "validatingadmissionpolicies"),
    "ValidatingAdmissionPolicyBinding": ("admissionregistration.k8s.io/v1", "validatingadmissionpolicybindings"),
}
REAL = {"Namespace", "ServiceAccount", "ClusterRole", "ClusterRoleBinding"} | {
    kind for kind in PLURALS if kind.startswith("Validating")
}
VERBS = ("get", "list", "watch", "create", "patch", "update", "delete", "deletecollection")
SETTLED = 15.0
CLUSTER_WIDE = {one.plural for one in RESOURCES.values() if not one.namespaced} | {"clusterroles"}


def path_of(one: JsonObject) -> str:
    version, plural = PLURALS[one["kind"]]
    root = f"/apis/{version}" if "/" in version else f"/api/{version}"
    within = "" if one["kind"] in CLUSTER_SCOPED else f"/namespaces/{one['metadata']['namespace']}"
    return f"{root}{within}/{plural}/{one['metadata']['name']}"


@pytest.fixture(scope="module")
def accounts(wire: Wire) -> Iterator[None]:
    """Accounts, roles and fences are there; what would run is only tried. On a cluster of our own."""
    own_plane()
    made = [one for one in installed() if one["kind"] in REAL]
    for one in made:
        answer = wire.call("PATCH", path_of(one), one, content=APPLY, fieldManager="suite", fieldValidation="Strict")
        assert answer.status in (200, 201), answer.text
        assert answer.warnings == []
    yield
    for one in reversed(made):
        wire.call("DELETE", path_of(one))


@pytest.fixture(scope="module")
def account(accounts: None, wire: Wire, tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Wire]:
    """The API as one of Turno's processes meets it: with its own token."""
    folder = tmp_path_factory.mktemp("accounts")

    def account(name: str) -> Wire:
        path = f"/api/v1/namespaces/turno/serviceaccounts/turno-{name}/token"
        asked = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {"expirationSeconds": 3600}}
        token = wire.call("POST", path, asked).json["status"]["token"]
        config = yaml.safe_load(Path(kubeconfig()).read_text())
        config["users"] = [{"name": user["name"], "user": {"token": token}} for user in config["users"]]
        (folder / name).write_text(yaml.safe_dump(config))
        return Wire(str(folder / name), f"turno-{name}")

    return account


@pytest.fixture(scope="module")
def teams(account: Callable[[str], Wire], wire: Wire) -> Iterator[SpaceSpec]:
    """A team's namespace, made by the worker with its own rights: first what gives it the rights inside."""
    spec = space_spec(f"suite-{uuid.uuid4().hex[:8]}", instance="turno", portal_namespace="turno")
    worker = account("worker")
    for one in space(spec):
        wait_until(
            lambda one=one: worker.apply(one).status in (200, 201), f"the worker may make {one['kind']}", SETTLED
        )
    yield spec
    wire.delete(space(spec)[0])


def taken(worker: Wire, one: JsonObject) -> bool:
    return worker.apply(one).status in (200, 201)


def review(as_account: Wire, verb: str, group: str, resource: str, namespace: str = "") -> bool:
    """The API server's own answer to: may I?"""
    resource, _, sub = resource.partition("/")
    asked = {"verb": verb, "group": group, "resource": resource, "subresource": sub, "namespace": namespace}
    body = {
        "apiVersion": "authorization.k8s.io/v1",
        "kind": "SelfSubjectAccessReview",
        "spec": {"resourceAttributes": asked},
    }
    answer = as_account.call("POST", "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", body)
    assert answer.status == 201, answer.text
    return bool(answer.json["status"]["allowed"])


def everything() -> Iterator[tuple[str, str]]:
    """Group and plural of each kind that Turno knows, and of what it must never touch."""
    for resource in RESOURCES.values():
        yield resource.api_version.rpartition("/")[0], resource.plural
    yield from (("", "pods/exec"), ("", "pods/log"), ("rbac.authorization.k8s.io", "clusterroles"))


def powers(mine: Wire, namespace: str = "") -> set[tuple[str, str]]:
    """Every verb and resource that an account has; without a namespace: in all of them."""
    return {
        (verb, resource)
        for group, resource in everything()
        for verb in VERBS
        if not (namespace and resource in CLUSTER_WIDE) and review(mine, verb, group, resource, namespace)
    }


@pytest.mark.parametrize("one", installed(), ids=lambda one: f"{one['kind']}-{one['metadata']['name']}")
def test_every_object_of_the_install_is_taken_without_a_warning(accounts: None, wire: Wire, one: JsonObject) -> None:
    answer = wire.call("PATCH", path_of(one), one, content=APPLY, fieldManager="suite", **STRICT)
    assert answer.status in (200, 201), answer.text
    assert answer.warnings == []


@pytest.mark.parametrize("name", ["web", "beat", "migrate"])
def test_who_has_no_business_with_the_cluster_may_do_nothing(account: Callable[[str], Wire], name: str) -> None:
    assert powers(account(name)) == set()


def test_the_watcher_reads_everywhere_what_it_mirrors_and_no_secret(account: Callable[[str], Wire]) -> None:
    mine = account("watch")
    mirrored = {(verb, RESOURCES[kind].plural) for kind in MIRRORED for verb in ("list", "watch")}
    assert powers(mine) == mirrored | {("get", "clusterqueues")}
    assert mine.call("GET", "/api/v1/secrets").status == 403


def test_the_log_reader_reads_logs_of_teams_and_nothing_else(account: Callable[[str], Wire], teams: SpaceSpec) -> None:
    mine = account("logs")
    assert powers(mine, teams.namespace) == {("get", "pods/log")}
    assert powers(mine) == powers(mine, "kube-system") == set()


def test_the_worker_makes_a_team_and_works_in_it(account: Callable[[str], Wire], teams: SpaceSpec) -> None:
    mine = account("worker")
    secret = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "key", "namespace": teams.namespace}}
    assert mine.apply({**secret, "stringData": {"key": "x"}}).status == 201
    assert mine.call("GET", f"/api/v1/namespaces/{teams.namespace}/pods").status == 200
    assert mine.delete(secret).status == 200


@pytest.mark.parametrize("namespace", ["kube-system", "default", "turno"])
def test_the_worker_may_do_nothing_in_other_namespaces(account: Callable[[str], Wire], namespace: str) -> None:
    mine = account("worker")
    assert powers(mine, namespace) == {(verb, "rolebindings") for verb in ("get", "create", "patch")}


def binding(namespace: str, role: str) -> JsonObject:
    return {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "RoleBinding",
        "metadata": {"name": "mine", "namespace": namespace},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": role},
        "subjects": [{"kind": "ServiceAccount", "name": "turno-worker", "namespace": "turno"}],
    }


def refused(answer: Answer, words: str) -> None:
    assert answer.status in (403, 422), answer.text
    assert words in answer.json["message"]


@pytest.mark.parametrize("namespace", ["kube-system", "default", "turno"])
def test_it_binds_its_roles_only_in_the_namespaces_of_its_teams(account: Callable[[str], Wire], namespace: str) -> None:
    mine = account("worker")
    one = binding(namespace, "turno-tenant-worker")
    wait_until(lambda: mine.create(one, dryRun="All").status == 403, "the fence stands", SETTLED)
    refused(mine.create(one, dryRun="All"), "only in the namespaces of its own teams")


@pytest.mark.parametrize("role", ["cluster-admin", "admin", "edit", "turno-worker"])
def test_it_binds_no_other_role_anywhere(account: Callable[[str], Wire], teams: SpaceSpec, role: str) -> None:
    told = account("worker").create(binding(teams.namespace, role), dryRun="All")
    refused(told, "no roles but those" if role == "turno-worker" else "attempting to grant")


def test_it_gives_its_rights_to_nobody_else(account: Callable[[str], Wire], teams: SpaceSpec) -> None:
    one = binding(teams.namespace, "turno-tenant-worker")
    one["subjects"] = [{"kind": "ServiceAccount", "name": "workload", "namespace": teams.namespace}]
    refused(account("worker").create(one, dryRun="All"), "to nobody but its own processes")


def test_it_takes_and_changes_no_namespace_that_is_not_its_own(account: Callable[[str], Wire]) -> None:
    mine = account("worker")
    for name in ("turno", "kueue-system"):
        foreign = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name, "labels": {"x": "y"}}}
        refused(
            mine.merge(foreign, {"metadata": {"labels": {"turno.dev/instance": "turno"}}}, dryRun="All"), "own teams"
        )
        refused(mine.delete(foreign, dryRun=["All"]), "cannot delete resource")
    plain = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": f"suite-{uuid.uuid4().hex[:8]}"}}
    refused(mine.create(plain, dryRun="All"), "carries the label of its instance")


def test_a_teams_own_account_may_do_nothing_at_all(wire: Wire, teams: SpaceSpec, tmp_path: Path) -> None:
    path = f"/api/v1/namespaces/{teams.namespace}/serviceaccounts/workload/token"
    asked: dict[str, Any] = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {}}
    token = wire.call("POST", path, asked).json["status"]["token"]
    config = yaml.safe_load(Path(kubeconfig()).read_text())
    config["users"] = [{"name": user["name"], "user": {"token": token}} for user in config["users"]]
    (tmp_path / "team").write_text(json.dumps(config))
    mine = Wire(str(tmp_path / "team"))
    for namespace in (teams.namespace, "turno", "kube-system", "default"):
        assert powers(mine, namespace) == set()
    assert mine.call("GET", collection({"kind": "Node", "metadata": {}})).status == 403
