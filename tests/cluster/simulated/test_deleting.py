"""Deletion: finalizers, grace, owners and their dependents, namespaces."""

from __future__ import annotations

from typing import Any

import pytest

from portal.cluster.simulated.objects import Obj
from portal.cluster.simulated.store import Store
from tests.cluster.simulated.conftest import Asker

JOBS = "/apis/batch/v1/namespaces/w1/jobs"
TEMPLATE = {"spec": {"restartPolicy": "Never", "containers": [{"name": "main", "image": "x:1"}]}}


@pytest.fixture
def job(ask: Asker) -> Obj:
    created = ask("POST", JOBS, {"metadata": {"name": "j"}, "spec": {"template": TEMPLATE}})
    assert created.status == 201
    return dict(created.body)


def pod_of(store: Store, owner: Obj, name: str = "j-1", **spec: Any) -> Obj:
    meta = owner["metadata"]
    reference = {"apiVersion": "batch/v1", "kind": owner["kind"], "name": meta["name"], "uid": meta["uid"]}
    body: Obj = {"apiVersion": "v1", "kind": "Pod", "spec": {**TEMPLATE["spec"], **spec}}
    return store.create({**body, "metadata": {"name": name, "namespace": "w1", "ownerReferences": [reference]}})


def test_raw_delete_of_a_job_orphans_its_pods(ask: Asker, job: Obj) -> None:
    pod_of(ask.store, job)

    ask("DELETE", f"{JOBS}/j")

    orphan = ask("GET", "pods/j-1")
    assert orphan.status == 200
    assert "ownerReferences" not in orphan.body["metadata"]


def test_background_delete_takes_the_dependents_with_it(ask: Asker, job: Obj) -> None:
    pod_of(ask.store, job)

    ask("DELETE", f"{JOBS}/j", {"propagationPolicy": "Background"})

    assert (ask("GET", f"{JOBS}/j").status, ask("GET", "pods/j-1").status) == (404, 404)


def test_foreground_delete_waits_for_the_dependents(ask: Asker, job: Obj) -> None:
    pod_of(ask.store, job, nodeName="n")

    waiting = ask("DELETE", f"{JOBS}/j", {"propagationPolicy": "Foreground"}).body
    assert waiting["metadata"]["finalizers"] == ["foregroundDeletion"]
    assert ask("GET", f"{JOBS}/j").status == 200

    ask.store.remove("Pod", "w1", "j-1")
    assert ask("GET", f"{JOBS}/j").status == 404


def test_dependent_with_another_owner_stays(ask: Asker, job: Obj) -> None:
    other = ask("POST", JOBS, {"metadata": {"name": "other"}, "spec": {"template": TEMPLATE}}).body
    pod = pod_of(ask.store, job)
    reference = {"apiVersion": "batch/v1", "kind": "Job", "name": "other", "uid": other["metadata"]["uid"]}
    pod["metadata"]["ownerReferences"].append(reference)
    ask.store.update(pod)

    ask("DELETE", f"{JOBS}/j", {"propagationPolicy": "Background"})

    assert ask("GET", "pods/j-1").body["metadata"]["ownerReferences"] == [reference]


def test_running_pod_is_given_its_grace(ask: Asker, job: Obj) -> None:
    pod_of(ask.store, job, nodeName="n", terminationGracePeriodSeconds=5)

    going = ask("DELETE", "pods/j-1").body
    assert going["metadata"]["deletionGracePeriodSeconds"] == 5
    assert ask("GET", "pods/j-1").status == 200

    assert ask("DELETE", "pods/j-1", {"gracePeriodSeconds": 0}).status == 200
    assert ask("GET", "pods/j-1").status == 404


def test_pod_that_never_ran_goes_at_once(ask: Asker, job: Obj) -> None:
    pod_of(ask.store, job)

    ask("DELETE", "pods/j-1")

    assert ask("GET", "pods/j-1").status == 404


def test_finalizer_of_a_pod_holds_it_after_its_grace(ask: Asker, job: Obj) -> None:
    pod = pod_of(ask.store, job, nodeName="n")
    pod["metadata"]["finalizers"] = ["kueue.x-k8s.io/managed"]
    ask.store.update(pod)

    ask("DELETE", "pods/j-1")
    ask.store.remove("Pod", "w1", "j-1")
    assert ask("GET", "pods/j-1").status == 200

    ask.merge("pods/j-1", {"metadata": {"finalizers": None}})
    assert ask("GET", "pods/j-1").status == 404


def test_namespace_goes_when_the_last_of_its_content_has_gone(ask: Asker, job: Obj) -> None:
    pod_of(ask.store, job, nodeName="n")

    assert ask("DELETE", "/api/v1/namespaces/w1").body["status"]["phase"] == "Terminating"
    assert ask("GET", f"{JOBS}/j").status == 404
    again = ask("DELETE", "/api/v1/namespaces/w1")
    assert (again.status, again.body["reason"]) == (409, "Conflict")
    refused = ask.config_map("late")
    assert (refused.status, refused.body["details"]["causes"][0]["reason"]) == (403, "NamespaceTerminating")

    ask.store.remove("Pod", "w1", "j-1")
    assert ask("GET", "/api/v1/namespaces/w1").status == 404


def test_delete_holds_to_the_version_it_names(ask: Asker) -> None:
    ask.config_map("c")

    refused = ask("DELETE", "configmaps/c", {"preconditions": {"resourceVersion": "1"}})

    assert (refused.status, refused.body["reason"]) == (409, "Conflict")
    assert "the ResourceVersion in the precondition (1) does not match" in refused.body["message"]


def test_dry_run_deletes_nothing(ask: Asker) -> None:
    ask.config_map("c")

    assert ask("DELETE", "configmaps/c?dryRun=All").status == 200
    assert ask("GET", "configmaps/c").status == 200


def test_collection_is_deleted_by_selector(ask: Asker) -> None:
    for name, group in (("a", "x"), ("b", "x"), ("c", "y")):
        ask.config_map(name, labels={"g": group})

    ask("DELETE", "configmaps?labelSelector=g%3Dx")

    assert [ask("GET", f"configmaps/{name}").status for name in "abc"] == [404, 404, 200]
