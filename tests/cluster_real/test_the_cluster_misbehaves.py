"""A real cluster that goes away, forgets, refuses, and is touched by others: nothing is lost or doubled, nothing of
anybody else's is changed, and the person is told in words."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from deploy.control_plane.failures import Refusal
from portal.cluster.port import JsonObject, ObjectRef
from portal.kernel.models import FeedEntry
from tests.cluster_real.stage import SOON, RealStage, is_true
from tests.faultproxy.proxy import Fault
from tests.faults.client import SHORT, Client
from tests.tooling.processes import wait_until

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(400)]

NAMESPACE = "turno-data"


def job_of_somebody(name: str) -> JsonObject:
    pod = {"restartPolicy": "Never", "containers": [{"name": "main", "image": "theirs"}]}
    spec = {"suspend": True, "template": {"spec": pod}}
    return {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": name, "namespace": NAMESPACE}, "spec": spec}


# The cluster is away


def test_an_api_server_that_was_away_loses_nothing(stage: RealStage, luis: Client, name: str) -> None:
    before = luis.submit("notebook", f"{name}-before")
    before.until("running", within=SOON)
    with stage.plane.api_is_down():
        late = luis.submit("training", f"{name}-late", env=SHORT)
        late.until("submitted", reason="cluster_unreachable", within=SOON)
        assert before.now()["state"] == "running"

    assert late.until("succeeded", within=SOON)["run"] == 1
    assert before.until("running", within=SOON)["run"] == 1
    before.delete()


def test_without_kueue_work_waits_with_that_reason_and_goes_on(stage: RealStage, luis: Client, name: str) -> None:
    with stage.plane.kueue_is_down():
        job = luis.submit("training", name, env=SHORT)
        told = job.until("submitted", reason="queue_system_unavailable", within=SOON)
        assert "queue controller has not answered" in told["message"]

    assert job.until("succeeded", within=SOON)["run"] == 1


def test_a_history_that_was_forgotten_is_listed_anew(stage: RealStage, luis: Client, name: str) -> None:
    book = luis.submit("notebook", name)
    book.until("running", within=SOON)
    stage.kill("watch")
    book.do("stop")
    wait_until(lambda: not stage.of(book, "StatefulSet"), "it is stopped", SOON)
    stage.plane.compact()
    stage.start("watch")

    book.until("stopped", within=SOON)
    book.delete()


def test_cut_watches_go_on(stage: RealStage, luis: Client, name: str) -> None:
    job = luis.submit("training", name, env={"TURNO_SIM_SECONDS": "10"})
    for _ in range(5):
        stage.proxy.cut()
        time.sleep(0.5)

    job.until("succeeded", within=SOON)


def test_a_server_that_asks_to_come_later_is_obeyed(stage: RealStage, luis: Client, name: str) -> None:
    stage.proxy.taken.clear()
    stage.proxy.add(Fault("status", match="^(POST|PATCH)", status=429, times=6))
    job = luis.submit("training", name, env=SHORT)

    job.until("succeeded", within=SOON)
    assert len(stage.of(job, "Job")) == 1
    assert any(one.startswith("status POST") for one in stage.proxy.taken)


def test_a_slow_server_is_waited_for_and_nothing_is_made_twice(stage: RealStage, luis: Client, name: str) -> None:
    slow = stage.proxy.add(Fault("delay", match="^POST", seconds=4))
    job = luis.submit("training", name, env=SHORT)
    wait_until(lambda: len(stage.of(job, "Job")) == 1, "the Job is made although its answer was late", SOON)
    stage.proxy.remove(slow)

    assert job.until("succeeded", within=SOON)["run"] == 1
    assert len(stage.of(job, "Job")) == 1


# Other hands


def test_a_job_deleted_with_kubectl_is_stopped_and_says_so(stage: RealStage, luis: Client, name: str) -> None:
    job = luis.submit("training", name)
    job.until("running", within=SOON)
    stage.remove(job, "Job")

    job.until("stopped", reason="deleted_outside", within=SOON)
    job.do("start")
    assert job.until("running", within=SOON)["run"] == 2
    job.delete()


@pytest.mark.parametrize("kind", ["StatefulSet", "Service", "HTTPRoute"])
def test_what_is_not_the_work_itself_is_made_again(stage: RealStage, luis: Client, name: str, kind: str) -> None:
    book = luis.submit("notebook", name)
    book.until("running", within=SOON)
    removed = stage.remove(book, kind)["metadata"]

    wait_until(lambda: uids(stage.of(book, kind)) - {removed["uid"]}, f"a new {kind}", SOON)
    assert book.until("running", within=SOON)["run"] == 1
    book.delete()


def uids(objects: list[JsonObject]) -> set[str]:
    return {one["metadata"]["uid"] for one in objects}


def test_a_claim_that_is_deleted_is_never_made_anew(stage: RealStage, luis: Client, name: str) -> None:
    book = luis.submit("notebook", name)
    book.until("running", within=SOON)
    book.do("stop")
    book.until("stopped", within=SOON)
    stage.remove(book, "PersistentVolumeClaim")
    wait_until(lambda: not stage.of(book, "PersistentVolumeClaim"), "the claim is gone", SOON)

    book.do("start")
    assert "data is gone" in book.until("failed", reason="data_gone", within=SOON)["message"]
    assert not stage.of(book, "PersistentVolumeClaim")
    book.delete()


def test_an_edit_is_put_back_and_other_peoples_fields_stay(stage: RealStage, luis: Client, name: str) -> None:
    book = luis.submit("notebook", name)
    book.until("running", within=SOON)
    stage.edit(book, "Service", {"metadata": {"labels": {"turno.dev/kind": "theirs", "their.own/label": "stays"}}})

    def labels() -> dict[str, str]:
        return dict(stage.one(book, "Service")["metadata"]["labels"])

    wait_until(lambda: labels()["turno.dev/kind"] == "notebook", "our label is back", SOON)
    assert labels()["their.own/label"] == "stays"
    told = FeedEntry.objects.filter(object_id=book.id, type="drift")
    wait_until(told.exists, "a word on it", SOON)
    assert "kubectl-edit" in str(told.get().params)
    book.delete()


def test_a_waiting_job_that_is_un_suspended_goes_on_waiting(stage: RealStage, luis: Client, name: str) -> None:
    card: dict[str, Any] = {"flavor": "h100", "gpus": 1}
    book = luis.submit("notebook", f"{name}-book", **card)
    book.until("running", within=SOON)
    job = luis.submit("training", f"{name}-job", **card)
    job.until("queued", within=SOON)

    stage.edit(job, "Job", {"spec": {"suspend": False}})

    wait_until(lambda: stage.one(job, "Job")["spec"]["suspend"], "Kueue suspends it again", SOON)
    assert job.until("queued", within=SOON)["run"] == 1
    book.delete()
    job.until("running", within=SOON)
    job.delete()


def test_an_object_of_our_name_that_is_not_ours_is_left_alone(stage: RealStage, luis: Client, name: str) -> None:
    stage.kill("worker")
    job = luis.submit("training", name)
    theirs = stage.gateway.create(job_of_somebody(f"{name}{job.stem}-r1"))
    stage.start("worker")

    said = job.until("failed", reason="name_conflict", within=SOON)
    assert theirs["metadata"]["name"] in said["message"]
    job.delete()
    job.until("deleted", within=SOON)
    ref = ObjectRef("Job", theirs["metadata"]["name"], NAMESPACE)
    left = stage.gateway.get(ref)
    assert left is not None
    assert left["metadata"]["uid"] == theirs["metadata"]["uid"]
    stage.gateway.delete(ref, uid=theirs["metadata"]["uid"])


def test_a_namespace_that_is_deleted_comes_back(stage: RealStage, pablo: Client, name: str) -> None:
    job = pablo.submit("training", f"{name}-job")
    job.until("running", within=SOON)
    space = ObjectRef("Namespace", "turno-training")
    found = stage.gateway.get(space)
    assert found is not None
    stage.gateway.delete(space, uid=found["metadata"]["uid"])

    # Pods go before what owns them, so that a Job may fail for its pod before it goes itself.
    assert job.until("stopped", "failed", within=2 * SOON)["reason"] in ("deleted_outside", "pod_deleted")
    again = pablo.submit("training", name, env=SHORT)
    again.until("succeeded", within=2 * SOON)
    stage.until_teams_are_ready()


def test_a_foreign_queue_is_nobodys_business(stage: RealStage, luis: Client, name: str) -> None:
    queue = {
        "apiVersion": "kueue.x-k8s.io/v1beta2",
        "kind": "ClusterQueue",
        "metadata": {"name": "somebody-elses"},
        "spec": {"namespaceSelector": {}, "cohortName": "turno-lab"},
    }
    made = stage.gateway.create(queue)
    job = luis.submit("training", name, env=SHORT)
    job.until("succeeded", within=SOON)

    left = stage.gateway.get(ObjectRef("ClusterQueue", "somebody-elses"))
    assert left is not None
    assert left["metadata"]["uid"] == made["metadata"]["uid"]
    assert left["spec"] == made["spec"]
    stage.gateway.delete(ObjectRef("ClusterQueue", "somebody-elses"), uid=made["metadata"]["uid"])


# Refusals


def test_what_a_policy_refuses_reaches_the_person_in_its_words(stage: RealStage, luis: Client, name: str) -> None:
    words = "jobs need a cost centre"
    expression = "has(object.metadata.labels) && 'cost' in object.metadata.labels"
    with policy(stage, name, expression, words):
        job = luis.submit("training", name)
        told = job.until("failed", reason="rejected", within=SOON)
        assert words in told["message"]

    job.delete()


@contextmanager
def policy(stage: RealStage, name: str, expression: str, words: str) -> Iterator[None]:
    """A ValidatingAdmissionPolicy on the Jobs of the team."""
    group = "admissionregistration.k8s.io/v1"
    rule = {"apiGroups": ["batch"], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["jobs"]}
    selector = {"matchLabels": {"kubernetes.io/metadata.name": NAMESPACE}}
    match = {"resourceRules": [rule], "namespaceSelector": selector}
    checks = [{"expression": expression, "message": words}]
    specs = {
        "ValidatingAdmissionPolicy": {"failurePolicy": "Fail", "matchConstraints": match, "validations": checks},
        "ValidatingAdmissionPolicyBinding": {"policyName": name, "validationActions": ["Deny"]},
    }
    for kind, spec in specs.items():
        made = {"apiVersion": group, "kind": kind, "metadata": {"name": name}, "spec": spec}
        stage.plane.kubectl("create", "-f", "-", given=made)
    try:
        wait_until(lambda: refuses_jobs(stage), "the policy holds", SOON)
        yield
    finally:
        for kind in specs:
            stage.plane.kubectl("delete", kind.lower(), name)


def refuses_jobs(stage: RealStage) -> bool:
    try:
        stage.plane.kubectl("create", "--dry-run=server", "-f", "-", given=job_of_somebody("probe"))
    except Refusal:
        return True
    return False


def test_a_full_namespace_is_told_in_words_and_tried_again(stage: RealStage, luis: Client, name: str) -> None:
    full = {
        "apiVersion": "v1",
        "kind": "ResourceQuota",
        "metadata": {"name": "theirs", "namespace": NAMESPACE},
        "spec": {"hard": {"count/jobs.batch": "0"}},
    }
    made = stage.gateway.create(full)
    ref = ObjectRef("ResourceQuota", "theirs", NAMESPACE)
    wait_until(lambda: (stage.gateway.get(ref) or {}).get("status", {}).get("used"), "the quota counts", SOON)
    try:
        job = luis.submit("training", name, env=SHORT)
        told = job.until("submitted", reason="cluster_refuses_access", within=SOON)
        assert "exceeded quota: theirs" in told["message"]
    finally:
        stage.gateway.delete(ref, uid=made["metadata"]["uid"])

    assert job.until("succeeded", within=2 * SOON)["run"] == 1


# Nodes


def test_a_notebook_whose_node_is_lost_says_so_and_comes_back(stage: RealStage, luis: Client, name: str) -> None:
    book = luis.submit("notebook", name)
    book.until("running", within=SOON)
    node = stage.one(book, "Pod")["spec"]["nodeName"]
    stage.plane.kubectl("label", "node", node, "turno.dev/lost=yes")
    try:
        wait_until(lambda: book.now()["reason"] != "ready", "it is no longer called ready", SOON)
    finally:
        stage.plane.kubectl("label", "node", node, "turno.dev/lost-")

    wait_until(lambda: is_true(stage.gateway.get(ObjectRef("Node", node)) or {}, "Ready"), "the node is back", SOON)
    assert book.until("running", within=2 * SOON)["run"] == 1
    book.delete()


def test_many_events_are_no_trouble(stage: RealStage, luis: Client, name: str) -> None:
    job = luis.submit("training", name, env={"TURNO_SIM_SECONDS": "10"})
    job.until("running", within=SOON)
    found = stage.one(job, "Job")["metadata"]
    for number in range(300):
        stage.gateway.create(
            {
                "apiVersion": "v1",
                "kind": "Event",
                "metadata": {"name": f"{name}.{number}", "namespace": NAMESPACE},
                "involvedObject": {"kind": "Job", "namespace": NAMESPACE, "name": found["name"], "uid": found["uid"]},
                "reason": "Flood",
                "message": f"number {number}",
                "type": "Warning",
            }
        )

    job.until("succeeded", within=SOON)
