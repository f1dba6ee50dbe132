"""Objects deleted, edited or taken by other people: mended where that loses nothing, told in every case."""

from __future__ import annotations

import pytest

from jobs import services
from jobs.models import UnknownObject, Workload
from jobs.reconcile import orphans
from portal.cluster.port import JsonObject, ObjectRef
from portal.kernel.actors import Person
from portal.kernel.models import FeedEntry
from tests.factories import jobs
from tests.jobs.stage import Stage

pytestmark = pytest.mark.django_db
NAMESPACE = "turno-data"
LONG = {"TURNO_SIM_SECONDS": "3000"}


def running(stage: Stage, owner: Person, kind: str = "training") -> Workload:
    row = stage.submit(owner, kind, **({"env": LONG} if kind == "training" else {}))
    stage.run(8)
    assert stage.reason(row) == ("running", "ready")
    return row


def get(stage: Stage, kind: str, name: str) -> JsonObject:
    found = stage.gateway.get(ObjectRef(kind, name, NAMESPACE))
    assert found is not None
    return found


def test_a_deleted_job_ends_the_run_as_stopped(stage: Stage, owner: Person) -> None:
    row = running(stage, owner)
    stage.kill("Job", f"train-{row.pk.hex[-10:]}-r1")
    stage.run(8)
    assert stage.reason(row) == ("stopped", "deleted_outside")
    assert stage.now(row).reason_params["kind"] == "Job"
    assert stage.runs(row) == [(1, "stopped", None)]
    assert stage.names("Pod") == []
    assert not stage.now(row).quota_held
    services.start(owner, workload_id=row.pk)
    stage.run(6)
    assert stage.reason(row) == ("running", "ready")


@pytest.mark.parametrize("nodes", [1, 3])
def test_pods_that_a_raw_deletion_leaves_behind_are_taken_away(stage: Stage, owner: Person, nodes: int) -> None:
    row = stage.submit(owner, env=LONG, framework="indexed", nodes=nodes, flavor="cpu", gpus=0)
    stage.run(8)
    assert stage.reason(row) == ("running", "ready")
    job = get(stage, "Job", f"train-{row.pk.hex[-10:]}-r1")["metadata"]
    stage.gateway.delete(ObjectRef("Job", job["name"], NAMESPACE), uid=job["uid"], propagation="Orphan")
    assert len(stage.names("Pod")) == nodes
    stage.run(10)
    assert stage.names("Pod") == []
    assert stage.reason(row) == ("stopped", "deleted_outside")
    assert stage.runs(row) == [(1, "stopped", None)]


def test_a_delete_takes_finished_pods_without_an_owner_too(stage: Stage, owner: Person) -> None:
    row = stage.submit(owner, env={"TURNO_SIM_SECONDS": "3"})
    stage.run(12)
    assert stage.reason(row) == ("succeeded", "completed")
    job = get(stage, "Job", f"train-{row.pk.hex[-10:]}-r1")["metadata"]
    stage.gateway.delete(ObjectRef("Job", job["name"], NAMESPACE), uid=job["uid"], propagation="Orphan")
    stage.run(2)
    assert len(stage.names("Pod")) == 1
    services.delete(owner, workload_id=row.pk)
    stage.run(5)
    assert stage.names("Pod") == []
    assert stage.reason(row) == ("deleted", "deleted")


@pytest.mark.parametrize(("kind", "lost"), [("notebook", "StatefulSet"), ("endpoint", "Deployment")])
def test_a_pods_keeper_is_made_again(stage: Stage, owner: Person, kind: str, lost: str) -> None:
    row = running(stage, owner, kind)
    name = stage.names(lost)[0]
    uid = get(stage, lost, name)["metadata"]["uid"]
    stage.kill(lost, name)
    stage.run(12)
    assert stage.reason(row) == ("running", "ready")
    assert get(stage, lost, name)["metadata"]["uid"] != uid
    assert FeedEntry.objects.filter(object_id=row.pk, type="recreated").count() == 1
    assert stage.runs(row) == [(1, "", None)]


@pytest.mark.parametrize("lost", ["Service", "HTTPRoute"])
def test_what_is_around_a_pod_is_made_again(stage: Stage, owner: Person, lost: str) -> None:
    row = running(stage, owner, "notebook")
    name = stage.names(lost)[0]
    stage.kill(lost, name)
    stage.run(8)
    assert stage.names(lost) == [name]
    assert stage.reason(row) == ("running", "ready")
    assert FeedEntry.objects.filter(object_id=row.pk, type="recreated").count() == 1


def test_a_changed_service_gets_its_fields_back_and_keeps_other_peoples(stage: Stage, owner: Person) -> None:
    row = running(stage, owner, "notebook")
    name = stage.names("Service")[0]
    found = get(stage, "Service", name)
    patch = {"metadata": {"labels": {"theirs": "1"}}, "spec": {"selector": {"turno.dev/workload": "elsewhere"}}}
    stage.gateway.patch(
        ObjectRef("Service", name, NAMESPACE),
        patch,
        uid=found["metadata"]["uid"],
        resource_version=found["metadata"]["resourceVersion"],
    )
    stage.run(5)
    after = get(stage, "Service", name)
    assert after["spec"]["selector"] == {"turno.dev/workload": str(row.pk)}
    assert after["metadata"]["labels"]["theirs"] == "1"
    assert FeedEntry.objects.filter(object_id=row.pk, type="drift").exists()


class TestRunOwned:
    def edit(self, stage: Stage, kind: str, name: str, patch: JsonObject) -> JsonObject:
        found = get(stage, kind, name)
        meta = found["metadata"]
        ref = ObjectRef(kind, name, NAMESPACE)
        return stage.gateway.patch(ref, patch, uid=meta["uid"], resource_version=meta["resourceVersion"])

    def test_replicas_set_by_hand_are_put_back_and_told(self, stage: Stage, owner: Person) -> None:
        row = running(stage, owner, "endpoint")
        name = stage.names("Deployment")[0]
        self.edit(stage, "Deployment", name, {"spec": {"replicas": 0}})
        stage.run(8)
        assert get(stage, "Deployment", name)["spec"]["replicas"] == 1
        assert stage.reason(row) == ("running", "ready")
        told = FeedEntry.objects.get(object_id=row.pk, type="drift")
        assert told.params["object"] == f"Deployment/{name}"

    def test_an_image_set_by_hand_is_put_back(self, stage: Stage, owner: Person) -> None:
        row = running(stage, owner, "endpoint")
        name = stage.names("Deployment")[0]
        there = get(stage, "Deployment", name)["spec"]["template"]["spec"]["containers"]
        there[0]["image"] = "evil.example/x:1"
        self.edit(stage, "Deployment", name, {"spec": {"template": {"spec": {"containers": there}}}})
        stage.run(12)
        after = get(stage, "Deployment", name)["spec"]["template"]["spec"]["containers"][0]
        assert after["image"] == "registry.turno.example/vllm:1"
        assert after["env"] == there[0]["env"]
        assert stage.reason(row) == ("running", "ready")

    def test_labels_of_others_stay_and_ours_come_back(self, stage: Stage, owner: Person) -> None:
        row = running(stage, owner)
        name = stage.names("Job")[0]
        self.edit(stage, "Job", name, {"metadata": {"labels": {"theirs": "1", "turno.dev/tenant": "other"}}})
        stage.run(4)
        labels = get(stage, "Job", name)["metadata"]["labels"]
        assert (labels["theirs"], labels["turno.dev/tenant"]) == ("1", "data")
        assert FeedEntry.objects.filter(object_id=row.pk, type="drift").count() == 1

    @pytest.mark.parametrize("kind", ["training", "notebook", "endpoint"])
    def test_what_kubernetes_and_kueue_write_is_no_drift(self, stage: Stage, owner: Person, kind: str) -> None:
        row = running(stage, owner, kind)
        stage.run(3)
        assert not FeedEntry.objects.filter(object_id=row.pk, type="drift").exists()


def test_a_running_notebook_that_loses_its_home_fails_and_gets_no_new_one(stage: Stage, owner: Person) -> None:
    row = running(stage, owner, "notebook")
    name = stage.names("PersistentVolumeClaim")[0]
    stage.stop(owner, row)
    stage.run(6)
    stage.kill("PersistentVolumeClaim", name)
    services.start(owner, workload_id=row.pk)
    stage.run(6)
    assert stage.reason(row) == ("failed", "data_gone")
    assert stage.names("PersistentVolumeClaim") == stage.names("Pod") == []


@pytest.mark.parametrize(("kind", "taken"), [("training", "Job"), ("endpoint", "Service")])
def test_an_object_of_somebody_else_with_our_name_is_not_touched(
    stage: Stage, owner: Person, kind: str, taken: str
) -> None:
    stage.blind = True
    row = services.submit(owner, kind=kind, data=jobs.request(kind))
    stem = f"{row.name}-{row.pk.hex[-10:]}"
    theirs = _theirs(taken, f"{stem}-r1" if taken == "Job" else stem)
    stage.gateway.create(theirs)
    stage.blind = False
    stage.run(5)
    assert stage.reason(row) == ("failed", "name_conflict")
    assert stage.now(row).reason_params == {"kind": taken, "name": theirs["metadata"]["name"]}
    assert get(stage, taken, theirs["metadata"]["name"])["metadata"].get("labels", {}).get("turno.dev/run") is None


def _theirs(kind: str, name: str) -> JsonObject:
    metadata = {"name": name, "namespace": NAMESPACE}
    if kind == "Service":
        spec: JsonObject = {"ports": [{"port": 80}], "selector": {"app": "theirs"}}
        return {"apiVersion": "v1", "kind": kind, "metadata": metadata, "spec": spec}
    amounts = {"cpu": "1", "memory": "1Gi"}
    container = {
        "name": "main",
        "image": "x.example/y:1",
        "resources": {"requests": amounts, "limits": amounts},
        "securityContext": {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}},
    }
    pod = {
        "restartPolicy": "Never",
        "securityContext": {"runAsNonRoot": True, "runAsUser": 1000, "seccompProfile": {"type": "RuntimeDefault"}},
        "containers": [container],
    }
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": metadata,
        "spec": {"suspend": True, "template": {"spec": pod}},
    }


class TestStrays:
    def test_an_object_of_a_closed_run_is_gone_at_the_next_look(self, stage: Stage, owner: Person) -> None:
        row = running(stage, owner)
        job = get(stage, "Job", f"train-{row.pk.hex[-10:]}-r1")
        stage.stop(owner, row)
        stage.run(6)
        stage.gateway.create(_copy_of(job))
        stage.run(5)
        assert stage.names("Job") == stage.names("Pod") == []
        assert stage.reason(row) == ("stopped", "stopped_by_person")

    def test_an_orphan_of_a_deleted_workload_is_found_by_the_sweep(self, stage: Stage, owner: Person) -> None:
        row = running(stage, owner)
        job = get(stage, "Job", f"train-{row.pk.hex[-10:]}-r1")
        services.delete(owner, workload_id=row.pk)
        stage.run(8)
        stage.gateway.create(_copy_of(job))
        stage.tick()
        stage.look()
        orphans.find()
        stage.run(5)
        assert stage.names("Job") == []

    def test_what_no_workload_explains_is_listed_and_left_alone(self, stage: Stage, owner: Person) -> None:
        row = running(stage, owner)
        job = _copy_of(get(stage, "Job", f"train-{row.pk.hex[-10:]}-r1"))
        job["metadata"]["name"] = "unknown-r1"
        job["metadata"]["labels"]["turno.dev/workload"] = "01890000-0000-7000-8000-000000000000"
        stage.gateway.create(job)
        stage.run(2)
        assert orphans.find() >= 1
        assert orphans.find() == 0
        assert UnknownObject.objects.get(kind="Job").name == "unknown-r1"
        assert "unknown-r1" in stage.names("Job")
        stage.kill("Job", "unknown-r1")
        stage.run(2)
        orphans.find()
        assert not UnknownObject.objects.filter(kind="Job").exists()


def _copy_of(job: JsonObject) -> JsonObject:
    """The Job as a worker would make it again."""
    labels = dict(job["metadata"]["labels"])
    template = job["spec"]["template"]
    drop = ("batch.kubernetes.io/", "controller-uid", "job-name", "kueue.x-k8s.io/")
    pod_labels = {name: value for name, value in template["metadata"]["labels"].items() if not name.startswith(drop)}
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": job["metadata"]["name"], "namespace": NAMESPACE, "labels": labels},
        "spec": {
            "suspend": True,
            "backoffLimit": 0,
            "template": {"metadata": {"labels": pod_labels}, "spec": template["spec"]},
        },
    }
