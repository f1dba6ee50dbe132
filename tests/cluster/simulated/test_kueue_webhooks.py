"""Kueue's webhooks: marks, refusals, and that they fail closed. The recorded texts are compared elsewhere."""

from __future__ import annotations

from typing import Any

import pytest

from portal.cluster.simulated.in_use import release_finalizers
from portal.cluster.simulated.objects import Obj
from portal.cluster.simulated.store import Store
from portal.cluster.simulated.webhooks import Webhooks
from tests.cluster.simulated.conftest import Asker

JOBS = "/apis/batch/v1/namespaces/w1/jobs"
DEPLOYMENTS = "/apis/apps/v1/namespaces/w1/deployments"
QUEUES = "/apis/kueue.x-k8s.io/v1beta2/clusterqueues"
FLAVORS = "/apis/kueue.x-k8s.io/v1beta2/resourceflavors"
SPEC: Obj = {"containers": [{"name": "main", "image": "x:1"}]}
QUEUED = {"kueue.x-k8s.io/queue-name": "main"}


def job(name: str = "j", **spec: Any) -> Obj:
    return {"metadata": {"name": name, "labels": QUEUED}, "spec": {"template": {"spec": SPEC}, **spec}}


def test_job_without_a_queue_is_left_alone(ask: Asker) -> None:
    free = ask("POST", JOBS, {"metadata": {"name": "free"}, "spec": {"template": {"spec": SPEC}}})

    assert free.body["spec"]["suspend"] is False


def test_queue_of_a_suspended_job_may_change(ask: Asker) -> None:
    assert ask("POST", JOBS, job()).body["spec"]["suspend"] is True

    assert ask.merge(f"{JOBS}/j", {"metadata": {"labels": {"kueue.x-k8s.io/queue-name": "other"}}}).status == 200


@pytest.mark.parametrize(
    ("label", "status"), [("queue-name", 403), ("max-exec-time-seconds", 403), ("priority-class", 200)]
)
def test_labels_of_a_running_job(ask: Asker, label: str, status: int) -> None:
    ask("POST", JOBS, job())
    ask.store.mutate("Job", "w1", "j", lambda stored: stored["spec"].update(suspend=False))

    patched = ask.merge(f"{JOBS}/j", {"metadata": {"labels": {f"kueue.x-k8s.io/{label}": "9"}}})

    assert patched.status == status


def test_priority_of_a_deployment_reaches_its_pods(ask: Asker) -> None:
    labels = {**QUEUED, "kueue.x-k8s.io/priority-class": "high"}
    template = {"metadata": {"labels": {"app": "d"}}, "spec": SPEC}
    spec = {"selector": {"matchLabels": {"app": "d"}}, "template": template}

    made = ask("POST", DEPLOYMENTS, {"metadata": {"name": "d", "labels": labels}, "spec": spec}).body

    assert made["spec"]["template"]["metadata"]["labels"] == {"app": "d", **labels, "kueue.x-k8s.io/managed": "true"}


def test_queue_with_a_borrowing_limit_needs_a_cohort(ask: Asker) -> None:
    resources = [{"name": "cpu", "nominalQuota": "2", "borrowingLimit": "1"}]
    groups = [{"coveredResources": ["cpu"], "flavors": [{"name": "f", "resources": resources}]}]
    ask("POST", QUEUES, {"metadata": {"name": "q"}, "spec": {"cohortName": "c", "resourceGroups": groups}})

    assert ask.merge(f"{QUEUES}/q", {"spec": {"cohortName": None}}).status == 422
    assert ask("GET", f"{QUEUES}/q").body["spec"]["cohortName"] == "c"


@pytest.mark.parametrize("name", ["nominalQuota", "borrowingLimit", "lendingLimit"])
def test_negative_limit_is_refused(ask: Asker, name: str) -> None:
    resources = [{"name": "cpu", "nominalQuota": "2", name: "-1"}]
    groups = [{"coveredResources": ["cpu"], "flavors": [{"name": "f", "resources": resources}]}]

    refused = ask("POST", QUEUES, {"metadata": {"name": "q"}, "spec": {"cohortName": "c", "resourceGroups": groups}})

    assert refused.status == 403
    assert f"resources[0].{name}" in refused.body["message"]


@pytest.fixture
def down(store: Store) -> Asker:
    asker = Asker(store, webhooks=Webhooks(lambda: False))
    asker("POST", "/api/v1/namespaces", {"metadata": {"name": "w1"}})
    return asker


@pytest.mark.parametrize(
    ("path", "webhook"),
    [
        (JOBS, "mjob.kb.io"),
        (DEPLOYMENTS, "mdeployment.kb.io"),
        ("/apis/apps/v1/namespaces/w1/statefulsets", "mstatefulset.kb.io"),
        ("/api/v1/namespaces/w1/pods", "mpod.kb.io"),
        (FLAVORS, "mresourceflavor.kb.io"),
        (QUEUES, "mclusterqueue.kb.io"),
        ("/apis/kueue.x-k8s.io/v1beta2/cohorts", "vcohort.kb.io"),
    ],
)
def test_stopped_kueue_refuses_what_it_would_see(down: Asker, path: str, webhook: str) -> None:
    template = {"metadata": {"labels": {"a": "b"}}, "spec": SPEC}
    spec = {"selector": {"matchLabels": {"a": "b"}}, "template": template, **SPEC}
    if path == JOBS:
        del spec["selector"]

    refused = down("POST", path, {"metadata": {"name": "x"}, "spec": spec})

    assert (refused.status, refused.body["reason"]) == (500, "InternalError")
    assert f'failed calling webhook "{webhook}"' in refused.body["message"]


def test_stopped_kueue_does_not_hinder_the_rest(down: Asker) -> None:
    assert down.config_map("c").status == 201
    pod = {"metadata": {"name": "x"}, "spec": SPEC}
    assert down("POST", "/api/v1/namespaces/kube-system/pods", pod).status == 201


def test_queue_stays_while_a_workload_holds_its_quota(ask: Asker) -> None:
    groups = [{"coveredResources": ["cpu"], "flavors": [{"name": "f", "resources": []}]}]
    ask("POST", FLAVORS, {"metadata": {"name": "f"}, "spec": {}})
    ask("POST", QUEUES, {"metadata": {"name": "q"}, "spec": {"resourceGroups": groups}})
    meta = {"name": "w", "namespace": "w1"}
    status: Obj = {"admission": {"clusterQueue": "q"}, "conditions": []}
    workload: Obj = {"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "Workload", "metadata": meta, "status": status}
    ask.store.create(workload)

    ask("DELETE", f"{QUEUES}/q")
    ask("DELETE", f"{FLAVORS}/f")
    release_finalizers(ask.store)
    assert [ask("GET", path).status for path in (f"{QUEUES}/q", f"{FLAVORS}/f")] == [200, 200]

    status["conditions"] = [{"type": "Finished", "status": "True"}]
    ask.store.mutate("Workload", "w1", "w", lambda stored: stored.update(status=status), status=True)
    release_finalizers(ask.store)
    assert [ask("GET", path).status for path in (f"{QUEUES}/q", f"{FLAVORS}/f")] == [404, 404]
