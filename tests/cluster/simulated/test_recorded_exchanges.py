"""The API answers as a real server and a real Kueue were recorded to: every exchange, in the order of the record.

Left out are the exchanges of NOT_CLAIMED, each with its reason; the README of the simulated cluster has the same table.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from portal.cluster import simulated
from portal.cluster.simulated.api import Api
from portal.cluster.simulated.logs import LogBook
from portal.cluster.simulated.namespaces import bootstrap
from portal.cluster.simulated.objects import Obj
from portal.cluster.simulated.store import Store
from portal.cluster.simulated.webhooks import Webhooks
from tests.cluster.simulated.recorded import WIRE, Player, comparable, exchanges

pytestmark = pytest.mark.skipif(not WIRE.exists(), reason="the recorded exchanges are not beside this checkout")

RIGHTS = "everybody may do everything: no tokens, no RBAC"
FIELDS = "fields are not checked against a schema: unknown ones are kept"
SECURITY = "pod security and resource quotas are not enforced"
CONTROLLERS = "what the controllers did; their own tests compare it"
VISIBILITY = "the manager answers; test_whole_cluster compares it"
NOT_CLAIMED = {
    "version": "says that it is simulated, and by what; the version itself is the same",
    "api-groups": "fewer groups; the next test compares those that are served",
    "api-resources": "no CronJob; the next test compares what is served",
    "unknown-field-strict": FIELDS,
    "unknown-field-warn": FIELDS,
    "watch-bookmarks": "takes a minute; test_watches has bookmarks",
    "bad-token": RIGHTS,
    "forbidden-list": RIGHTS,
    "forbidden-create": RIGHTS,
    "can-i": RIGHTS,
    "escalation": RIGHTS,
    "psa-job-warns": SECURITY,
    "psa-pod-refused": SECURITY,
    "quota-exceeded": SECURITY,
    "kueue-v1beta1-cohort": "only v1beta2 is served",
    "node-1": "a new node has no taint and no nodeInfo before its kubelet reports",
    "workload-admitted": CONTROLLERS,
    "job-admitted": CONTROLLERS,
    "pod-running": CONTROLLERS,
    "log": "KWOK's answer for a pod without a log file; a kubelet answers with nothing",
    "workload-finished": CONTROLLERS,
    "job-finished": CONTROLLERS,
    "clusterqueue-borrowing": CONTROLLERS,
    "workload-pending": CONTROLLERS,
    "visibility-clusterqueue": VISIBILITY,
    "visibility-missing-localqueue": VISIBILITY,
    "workload-exceeds-maximum": CONTROLLERS,
    "workload-no-localqueue": CONTROLLERS,
    "watch-workloads-reclaim": CONTROLLERS,
    "workload-preempted": CONTROLLERS,
    "job-preempted": CONTROLLERS,
    "events-of-preempted": CONTROLLERS,
    "preemptor": CONTROLLERS,
    "workload-in-held-queue": CONTROLLERS,
    "clusterqueue-held": CONTROLLERS,
    "workload-deactivated": CONTROLLERS,
    "statefulset-pods": CONTROLLERS,
    "workloads-of-pod-based": CONTROLLERS,
    "workloads-after-scale-zero": CONTROLLERS,
    "kueue-down-visibility": VISIBILITY,
    "list-exact-old-rv": "version 5 of another history; test_lists has a list at an old version",
}


@dataclass
class Stage:
    """The API under test, and the switches of what stands behind it."""

    store: Store
    player: Player
    kueue_runs: bool = True


def _config_maps(stage: Stage, _: Obj) -> None:
    for number in range(5):
        body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": f"p{number}", "labels": {"g": "p"}}}
        _write(stage, "POST", "/api/v1/namespaces/w1/configmaps", body)


def _changes(stage: Stage, _: Obj) -> None:
    path = "/api/v1/namespaces/w1/configmaps"
    meta = {"name": "w1", "labels": {"g": "p"}}
    _write(stage, "POST", path, {"apiVersion": "v1", "kind": "ConfigMap", "metadata": meta, "data": {"a": "1"}})
    _write(stage, "PATCH", f"{path}/w1", {"data": {"a": "2"}})
    _write(stage, "PATCH", f"{path}/w1", {"metadata": {"labels": {"g": "q"}}})
    _write(stage, "DELETE", f"{path}/w1")


def _write(stage: Stage, method: str, path: str, body: Any = None) -> None:
    media = "application/merge-patch+json" if method == "PATCH" else "application/json"
    status, answer, _ = stage.player.send(method, path, body, {"content-type": media})
    assert status < 300, answer


def _second_namespace(stage: Stage, _: Obj) -> None:
    _write(stage, "POST", "/api/v1/namespaces", {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "w2"}})


def _admit_job(stage: Stage, _: Obj) -> None:
    stage.store.mutate("Job", "w1", "j1", lambda job: job["spec"].update(suspend=False))


def _pod_on_node(stage: Stage, _: Obj) -> None:
    meta = {"name": "j1-flhf9", "namespace": "w1"}
    spec = {"nodeName": "gpu-1", "containers": [{"name": "main", "image": "x"}]}
    stage.store.create({"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": spec})


def _status_as_recorded(stage: Stage, recorded: Obj) -> None:
    meta = recorded["metadata"]
    status = recorded["status"]
    stage.store.mutate(
        recorded["kind"], meta.get("namespace"), meta["name"], lambda obj: obj.update(status=status), status=True
    )


def _workload(stage: Stage, recorded: Obj) -> None:
    workload = {**recorded, "spec": {**recorded["spec"], "active": True}}
    meta = {**recorded["metadata"]}
    meta["managedFields"] = [entry for entry in meta["managedFields"] if entry["manager"] != "python-urllib3"]
    stage.store.create({**workload, "metadata": meta})


def _job_b3(stage: Stage, _: Obj) -> None:
    stage.store.create({"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "b3", "namespace": "w1"}})
    stored = stage.store.get("Job", "w1", "b3")
    stage.player.learn({"uid": "c387f6e9-b35a-4529-a5e4-133b6ec396c0"}, stored["metadata"] if stored else {})


def _stop_kueue(stage: Stage, _: Obj) -> None:
    stage.kueue_runs = False


def _restart(stage: Stage, _: Obj) -> None:
    stage.store.forget_history()


BEFORE: dict[str, Callable[[Stage, Obj], None]] = {
    "list-page-1": _config_maps,
    "watch-selector": _changes,
    "kueue-flavor": _second_namespace,
    "queue-name-change-refused": _admit_job,
    "log-wrong-container": _pod_on_node,
    "stop-policy": _status_as_recorded,
    "deactivate": _workload,
    "delete-job-background": _job_b3,
    "statefulset-scale-zero": _status_as_recorded,
    "kueue-down-job": _stop_kueue,
    "watch-410": _restart,
}
"""What happened between two exchanges without being recorded."""


@cache
def played() -> dict[str, tuple[Obj, tuple[int, Any, dict[str, str]]]]:
    """Every exchange with its answer here: id -> (recorded, answered)."""
    store = Store()
    bootstrap(store)
    stage = Stage(store, Player(Api(store, LogBook(), Webhooks(lambda: stage.kueue_runs))))
    answers = {}
    for exchange in exchanges():
        if exchange["id"] in NOT_CLAIMED and exchange["status"] >= 400:
            continue  # what would be refused there must not be left behind here
        before = BEFORE.get(exchange["id"])
        if before is not None:
            before(stage, exchange.get("response"))
        answered = stage.player.play(exchange)
        stage.player.learn(expected(exchange), answered[1])
        answers[exchange["id"]] = exchange, answered
    return answers


def expected(exchange: Obj) -> Any:
    """The recorded body; of a refused watch it is kept as its only event."""
    if exchange["method"] != "WATCH":
        return exchange["response"]
    return exchange["events"] if exchange["status"] == 200 else exchange["events"][0]


CLAIMED = [one["id"] for one in exchanges() if one["id"] not in NOT_CLAIMED] if WIRE.exists() else []


@pytest.mark.parametrize("exchange_id", CLAIMED)
def test_answer_is_as_recorded(exchange_id: str) -> None:
    exchange, (status, body, headers) = played()[exchange_id]

    assert comparable(body) == comparable(expected(exchange))
    assert status == exchange["status"]
    for name in ("warning", "retry-after"):
        assert headers.get(name) == exchange.get("headers", {}).get(name)


def test_every_exchange_left_out_was_recorded() -> None:
    assert NOT_CLAIMED.keys() <= {exchange["id"] for exchange in exchanges()}


def test_readme_has_the_same_table() -> None:
    readme = Path(simulated.__file__).with_name("README.md").read_text()
    rows = re.findall(r"^\| (`.*`) \| (.*) \|$", readme.partition("## Known differences")[2], re.MULTILINE)

    assert {name: reason for names, reason in rows for name in re.findall(r"`([^`]+)`", names)} == NOT_CLAIMED


@pytest.mark.parametrize("exchange_id", ["api-groups", "api-resources"])
def test_discovery_tells_of_what_is_served_as_recorded(exchange_id: str) -> None:
    exchange, (_, body, _) = played()[exchange_id]
    part = "groups" if exchange_id == "api-groups" else "resources"
    recorded = {one["name"]: one for one in exchange["response"][part]}

    for one in body[part]:
        if one["name"] == "gateway.networking.k8s.io":
            continue  # was not installed where the record was made
        want = recorded[one["name"]]
        for field in ("name", "singularName", "namespaced", "kind", "verbs"):
            assert one.get(field) == want.get(field)


def test_watch_from_another_version_than_a_number_is_refused() -> None:
    _, (status, body, _) = played()["watch-bad-rv"]

    assert (status, body["code"]) == (500, 500)
