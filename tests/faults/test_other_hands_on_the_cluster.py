"""People with kubectl, and machines that break: what is theirs stays, what is ours is mended, what is lost is told."""

from __future__ import annotations

from typing import Any

import pytest

from jobs.models import Workload
from portal.cluster.port import JsonObject, ObjectRef
from portal.kernel.models import FeedEntry
from quotas.models import Allocation
from tenants.models import TenantSpace
from tests.faults.client import SHORT, Client, Submitted
from tests.faults.stage import Stage
from tests.tooling.processes import wait_until

NAMESPACE = "turno-data"


def one(stage: Stage, kind: str, workload: Submitted) -> JsonObject | None:
    found = stage.gateway.list(kind, selector=f"turno.dev/workload={workload.id}").items
    return found[0] if found else None


def remove(stage: Stage, kind: str, workload: Submitted) -> JsonObject:
    found = one(stage, kind, workload)
    assert found is not None
    ref = ObjectRef(kind, found["metadata"]["name"], found["metadata"]["namespace"])
    stage.gateway.delete(ref, uid=found["metadata"]["uid"])
    return found


def test_a_job_deleted_outside_is_stopped_and_says_so(stage: Stage, luis: Client, name: str) -> None:
    job = luis.submit("training", name)
    job.until("running")
    remove(stage, "Job", job)
    job.until("stopped", reason="deleted_outside")
    job.do("start")
    assert job.until("running")["run"] == 2
    job.delete()


def test_what_is_not_the_work_itself_is_made_again(stage: Stage, luis: Client, name: str) -> None:
    books = {
        kind: luis.submit("notebook", f"{name}-{kind.lower()}") for kind in ("StatefulSet", "Service", "HTTPRoute")
    }
    for book in books.values():
        book.until("running")
    removed = {kind: remove(stage, kind, book)["metadata"] for kind, book in books.items()}
    for kind, book in books.items():
        wait_until(lambda k=kind, b=book: one(stage, k, b), f"a new {kind}")
        again = one(stage, kind, book)
        assert again is not None
        assert again["metadata"]["name"] == removed[kind]["name"]
        assert again["metadata"]["uid"] != removed[kind]["uid"]
        told = FeedEntry.objects.filter(object_id=book.id, type="recreated")
        wait_until(told.exists, f"a word on the {kind}")
        assert told.get().params == {"object": f"{kind}/{removed[kind]['name']}"}
        assert book.until("running")["run"] == 1
        book.delete()


def test_a_claim_deleted_outside_is_told_and_never_made_anew(stage: Stage, luis: Client, name: str) -> None:
    book = luis.submit("notebook", name)
    book.until("running")
    book.do("stop")
    book.until("stopped")
    remove(stage, "PersistentVolumeClaim", book)
    wait_until(lambda: one(stage, "PersistentVolumeClaim", book) is None, "the claim is gone")
    wait_until(FeedEntry.objects.filter(object_id=book.id, type="data_gone").exists, "a word on it")
    book.do("start")
    assert "data is gone" in book.until("failed", reason="data_gone")["message"]
    assert one(stage, "PersistentVolumeClaim", book) is None


def test_an_edit_is_put_back_and_other_peoples_fields_stay(stage: Stage, luis: Client, name: str) -> None:
    book = luis.submit("notebook", name)
    book.until("running")
    service = one(stage, "Service", book)
    assert service is not None
    ref = ObjectRef("Service", service["metadata"]["name"], NAMESPACE)
    patch = {"metadata": {"labels": {"turno.dev/kind": "theirs", "their.own/label": "stays"}}}
    version = service["metadata"]["resourceVersion"]
    stage.gateway.patch(ref, patch, uid=service["metadata"]["uid"], resource_version=version)

    def labels() -> dict[str, str]:
        found = one(stage, "Service", book)
        assert found is not None
        return dict(found["metadata"]["labels"])

    wait_until(lambda: labels()["turno.dev/kind"] == "notebook", "our label is back")
    assert labels()["their.own/label"] == "stays"
    wait_until(FeedEntry.objects.filter(object_id=book.id, type="drift").exists, "a word on it")
    book.delete()


def test_an_object_of_our_name_that_is_not_ours_is_left_alone(stage: Stage, luis: Client, name: str) -> None:
    stage.kill("worker")
    job = luis.submit("training", name)
    theirs: dict[str, Any] = {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": f"{name}{job.stem}-r1", "namespace": NAMESPACE},
        "spec": {
            "suspend": True,
            "template": {"spec": {"restartPolicy": "Never", "containers": [{"name": "main", "image": "theirs"}]}},
        },
    }
    made = stage.gateway.create(theirs)
    stage.start("worker")
    said = job.until("failed", reason="name_conflict")
    assert theirs["metadata"]["name"] in said["message"]
    job.delete()
    job.until("deleted")
    ref = ObjectRef("Job", theirs["metadata"]["name"], NAMESPACE)
    left = stage.gateway.get(ref)
    assert left is not None
    assert left["metadata"]["uid"] == made["metadata"]["uid"]
    stage.gateway.delete(ref, uid=made["metadata"]["uid"])


def test_a_namespace_deleted_outside_comes_back_and_each_workload_says_what_it_lost(stage: Stage, name: str) -> None:
    pablo = stage.client("pablo")
    job, book = pablo.submit("training", f"{name}-job"), pablo.submit("notebook", f"{name}-book")
    for each in (job, book):
        each.until("running")
    found = stage.gateway.get(ObjectRef("Namespace", "turno-training", None))
    assert found is not None
    stage.gateway.delete(ObjectRef("Namespace", "turno-training", None), uid=found["metadata"]["uid"])

    job.until("stopped", reason="deleted_outside")
    book.until("failed", reason="data_gone")

    def space_is_back() -> bool:
        again = stage.gateway.get(ObjectRef("Namespace", "turno-training", None))
        ready = TenantSpace.objects.get(namespace="turno-training").ready
        return ready and again is not None and again["metadata"]["uid"] != found["metadata"]["uid"]

    wait_until(space_is_back, "the namespace is back")
    next_one = pablo.submit("training", name, env=SHORT)
    next_one.until("succeeded")


def test_a_lost_node_takes_work_out_of_running_and_the_history_stays_true(
    stage: Stage, luis: Client, name: str
) -> None:
    """A node of its own carries a notebook, a job and an endpoint; its kubelet stops, then it is gone."""
    flavor = {"flavor": "h100-1g", "gpus": 1}
    ana, diego = stage.client("luis"), stage.client("diego")
    job = ana.submit("training", f"{name}-job", **flavor)
    book = diego.submit("notebook", f"{name}-book", **flavor)
    served = diego.submit("endpoint", f"{name}-served")
    all_of_them = (job, book, served)
    for each in all_of_them:
        each.until("running")
    nodes = {one_pod(stage, each)["spec"]["nodeName"] for each in all_of_them}
    assert len(nodes) == 1
    node = nodes.pop()
    free = luis.call("GET", "/flavors/h100-1g/").json
    assert free["capacity"] == 4

    stage.control("PATCH", f"/nodes/{node}", {"kubelet": "stopped"})
    try:
        for each in all_of_them:
            wait_until(lambda e=each: e.now()["state"] != "running" or e.now()["reason"] != "ready", each.name)
        gone = luis.call("GET", "/flavors/h100-1g/").json
        assert gone["capacity"] == 0
        assert gone["free"] == 0
    finally:
        stage.control("PATCH", f"/nodes/{node}", {"kubelet": "running"})
    for each in (book, served):
        each.until("running")
    job.until("running", "failed")
    for row in Allocation.objects.filter(workload_id__in=[each.id for each in all_of_them]):
        assert row.released_at is None or row.released_at >= row.admitted_at
    assert Workload.objects.filter(pk__in=[each.id for each in all_of_them], run_number=1).count() == 3
    for each in all_of_them:
        each.delete()


def one_pod(stage: Stage, workload: Submitted) -> JsonObject:
    found = one(stage, "Pod", workload)
    assert found is not None
    return found


@pytest.mark.parametrize("kind", ["training", "notebook"])
def test_the_same_name_deleted_and_made_again_is_another_workload(
    stage: Stage, luis: Client, name: str, kind: str
) -> None:
    first = luis.submit(kind, name)
    first.until("running")
    first.delete()
    first.until("deleted")
    second = luis.submit(kind, name)
    second.until("running")
    assert first.id != second.id
    assert FeedEntry.objects.filter(object_id=second.id, type="deleting").count() == 0
    second.delete()
