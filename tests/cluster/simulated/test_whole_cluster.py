"""API, controllers and Kueue together: a job is submitted over the API and seen through to its end."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from portal.cluster.simulated.in_use import release_finalizers
from portal.cluster.simulated.objects import Obj
from portal.cluster.simulated.server import Cluster, Settings
from portal.kernel import clock
from tests.cluster.simulated.conftest import Answer, Asker
from tests.cluster.simulated.recorded import WIRE, comparable, exchanges

KUEUE = "/apis/kueue.x-k8s.io/v1beta2"
JOBS = "/apis/batch/v1/namespaces/w1/jobs"
PENDING = "/apis/visibility.kueue.x-k8s.io/v1beta2"


class Whole:
    """A cluster whose clock the test moves."""

    def __init__(self) -> None:
        self.now = datetime(2026, 12, 1, 9, tzinfo=UTC)
        clock.set_source(lambda: self.now)
        self.cluster = Cluster(Settings(port=0, data_port=0, control_port=0))
        self.ask = Asker(self.cluster.store, webhooks=self.cluster.webhooks)
        self.ask.api = self.cluster.api
        self.ask.player.api = self.cluster.api

    def run(self, seconds: float) -> None:
        end = self.now + timedelta(seconds=seconds)
        wait = self.cluster.manager.tick()
        while wait is not None and self.now + timedelta(seconds=wait) <= end:
            self.now += timedelta(seconds=wait)
            wait = self.cluster.manager.tick()
        self.now = end

    def job(self, name: str) -> Answer:
        resources = {"requests": {"cpu": "1"}, "limits": {"cpu": "1"}}
        pod = {"restartPolicy": "Never", "containers": [{"name": "main", "image": "x:1", "resources": resources}]}
        meta = {"name": name, "labels": {"kueue.x-k8s.io/queue-name": "main"}}
        return self.ask("POST", JOBS, {"metadata": meta, "spec": {"template": {"spec": pod}}})


@pytest.fixture
def whole() -> Whole:
    made = Whole()
    ask = made.ask
    ask("POST", "/api/v1/namespaces", {"metadata": {"name": "w1"}})
    ask("POST", f"{KUEUE}/resourceflavors", {"metadata": {"name": "cpu"}, "spec": {}})
    flavor = {"name": "cpu", "resources": [{"name": "cpu", "nominalQuota": "1"}]}
    groups = [{"coveredResources": ["cpu"], "flavors": [flavor]}]
    spec = {"namespaceSelector": {}, "resourceGroups": groups}
    ask("POST", f"{KUEUE}/clusterqueues", {"metadata": {"name": "t-a"}, "spec": spec})
    ask("POST", f"{KUEUE}/namespaces/w1/localqueues", {"metadata": {"name": "main"}, "spec": {"clusterQueue": "t-a"}})
    return made


@pytest.fixture(autouse=True)
def clock_is_put_back() -> object:
    yield
    clock.set_source(None)


def conditions(obj: Obj) -> dict[str, str]:
    return {one["type"]: one["status"] for one in (obj.get("status") or {}).get("conditions") or []}


def test_job_runs_from_the_request_to_its_logs(whole: Whole) -> None:
    assert whole.job("j").body["spec"]["suspend"] is True

    whole.run(60)

    job = whole.ask("GET", f"{JOBS}/j").body
    assert conditions(job)["Complete"] == "True"
    pods = whole.ask("GET", "pods?labelSelector=job-name%3Dj").body["items"]
    assert [pod["status"]["phase"] for pod in pods] == ["Succeeded"]
    workload = whole.ask("GET", f"{KUEUE}/namespaces/w1/workloads").body["items"][0]
    assert conditions(workload)["Finished"] == "True"
    assert whole.ask("GET", f"pods/{pods[0]['metadata']['name']}/log").body


def test_pending_workloads_are_told_in_order(whole: Whole) -> None:
    for name in ("first", "second", "third"):
        whole.job(name)
        whole.run(1)

    told = whole.ask("GET", f"{PENDING}/clusterqueues/t-a/pendingworkloads").body

    assert [item["metadata"]["ownerReferences"][0]["name"] for item in told["items"]] == ["second", "third"]
    assert [item["positionInClusterQueue"] for item in told["items"]] == [0, 1]
    local = whole.ask("GET", f"{PENDING}/namespaces/w1/localqueues/main/pendingworkloads").body
    assert [item["positionInLocalQueue"] for item in local["items"]] == [0, 1]


@pytest.mark.skipif(not WIRE.exists(), reason="the recorded exchanges are not beside this checkout")
@pytest.mark.parametrize(
    ("exchange_id", "runs"), [("visibility-missing-localqueue", True), ("kueue-down-visibility", False)]
)
def test_visibility_is_refused_as_recorded(whole: Whole, exchange_id: str, runs: bool) -> None:
    recorded = next(one for one in exchanges() if one["id"] == exchange_id)
    whole.cluster.manager.world.settings.set_kueue(runs=runs)

    answer = whole.ask("GET", recorded["path"])

    assert (answer.status, answer.body) == (recorded["status"], recorded["response"])


@pytest.mark.skipif(not WIRE.exists(), reason="the recorded exchanges are not beside this checkout")
def test_a_pending_workload_has_the_recorded_shape(whole: Whole) -> None:
    recorded = next(one for one in exchanges() if one["id"] == "visibility-clusterqueue")["response"]
    whole.job("first")
    whole.run(1)
    whole.job("second")
    whole.run(1)

    told = whole.ask("GET", f"{PENDING}/clusterqueues/t-a/pendingworkloads").body

    assert comparable(told).keys() == comparable(recorded).keys()
    assert told["items"][0].keys() == recorded["items"][0].keys()
    assert told["items"][0]["metadata"].keys() == recorded["items"][0]["metadata"].keys()


def test_stopped_kueue_refuses_jobs_until_it_runs_again(whole: Whole) -> None:
    settings = whole.cluster.manager.world.settings
    settings.set_kueue(runs=False)
    assert whole.job("j").status == 500

    settings.set_kueue(runs=True)
    assert whole.job("j").status == 201


def test_demo_machines_are_there_from_the_start(whole: Whole) -> None:
    nodes = whole.ask("GET", "/api/v1/nodes").body["items"]

    assert {node["metadata"]["name"] for node in nodes} == {"cpu-1", "gpu-1"}
    gpu = next(node for node in nodes if node["metadata"]["name"] == "gpu-1")
    assert gpu["status"]["allocatable"]["nvidia.com/gpu"] == "3"


def test_namespace_goes_with_everything_that_runs_in_it(whole: Whole) -> None:
    whole.job("running")
    whole.job("waiting")
    whole.run(6)
    assert whole.ask("GET", "pods").body["items"]

    whole.ask("DELETE", "/api/v1/namespaces/w1")
    whole.run(120)

    assert whole.ask("GET", "/api/v1/namespaces/w1").status == 404
    assert whole.ask("GET", f"{KUEUE}/workloads").body["items"] == []


def test_queue_is_free_to_go_when_its_work_is_gone(whole: Whole) -> None:
    whole.job("running")
    whole.run(6)
    whole.ask("DELETE", f"{KUEUE}/clusterqueues/t-a")
    release_finalizers(whole.cluster.store)
    assert whole.ask("GET", f"{KUEUE}/clusterqueues/t-a").status == 200

    whole.ask("DELETE", f"{JOBS}/running", {"propagationPolicy": "Background"})
    whole.run(120)
    release_finalizers(whole.cluster.store)

    assert whole.ask("GET", f"{KUEUE}/clusterqueues/t-a").status == 404
