"""An endpoint on the simulated cluster: one ready replica is enough, the rest is told, keys turn at the next start."""

from __future__ import annotations

import asyncio
import base64
from typing import Any

import orjson
import pytest

from jobs import selectors, services
from jobs.models import Workload
from jobs.specs import Endpoint
from portal.cluster.port import ObjectRef
from portal.cluster.simulated.dataplane import DataPlane
from portal.kernel.actors import Person
from portal.kernel.errors import Denied, Invalid
from tests.jobs.stage import Stage

pytestmark = pytest.mark.django_db
NAMESPACE = "turno-data"


def served(stage: Stage, owner: Person, **changes: object) -> Workload:
    row = stage.submit(owner, "endpoint", **changes)
    stage.run(8)
    return row


def key_on_cluster(stage: Stage, row: Workload) -> str:
    secret = stage.gateway.get(ObjectRef("Secret", f"chat-{row.pk.hex[-10:]}", NAMESPACE))
    assert secret is not None
    return base64.b64decode(secret["data"]["key"]).decode()


def test_it_runs_with_its_key_on_the_cluster(stage: Stage, owner: Person) -> None:
    row = served(stage, owner)
    assert stage.reason(row) == ("running", "ready")
    shown = selectors.represent(stage.now(row), detail=True, language="en")
    assert shown["replicas"] == {"desired": 1, "ready": 1, "queued": 0}
    assert shown["endpoint_url"].endswith(f"/e/{row.pk}/v1")
    key = selectors.key(owner, row.pk)["key"]
    assert len(key) == 43
    assert key_on_cluster(stage, row) == key


def test_the_key_is_in_no_row_and_no_event(stage: Stage, owner: Person) -> None:
    row = served(stage, owner)
    key = selectors.key(owner, row.pk)["key"]
    assert key not in str(selectors.manifests(owner, row.pk).manifests)
    assert key not in str([(entry.message, entry.params) for entry in selectors.events(owner, row.pk)])


def test_a_rotated_key_is_taken_by_the_next_start(stage: Stage, owner: Person) -> None:
    row = served(stage, owner)
    old = selectors.key(owner, row.pk)
    new = services.rotate_key(owner, workload_id=row.pk)
    assert new["rotation"] == old["rotation"] + 1
    stage.run(3)
    assert selectors.key(owner, row.pk) == old
    assert key_on_cluster(stage, row) == old["key"]
    services.stop(owner, workload_id=row.pk)
    services.start(owner, workload_id=row.pk)
    stage.run(15)
    assert stage.reason(row) == ("running", "ready")
    assert selectors.key(owner, row.pk) == new
    assert key_on_cluster(stage, row) == new["key"]


def test_the_key_is_for_owner_and_manager(stage: Stage, owner: Person, manager: Person, teammate: Person) -> None:
    row = served(stage, owner)
    assert selectors.key(manager, row.pk) == selectors.key(owner, row.pk)
    with pytest.raises(Denied):
        selectors.key(teammate, row.pk)


def test_replicas_beyond_the_quota_wait_and_are_told(stage: Stage, owner: Person) -> None:
    stage.submit(owner, "notebook", idle_timeout=None)
    row = served(stage, owner, min_replicas=2)
    assert stage.reason(row) == ("running", "replicas_waiting")
    found = stage.now(row)
    assert (found.replicas_desired, found.replicas_ready, found.replicas_queued) == (2, 1, 1)
    assert found.reason_params == {"ready": 1, "desired": 2, "queued": 1}


class TestChangingItWhileItRuns:
    def test_replicas_reach_the_cluster_and_nothing_restarts(self, stage: Stage, owner: Person) -> None:
        row = served(stage, owner)
        pod = stage.names("Pod")
        services.change(owner, workload_id=row.pk, data={"min_replicas": 2})
        stage.run(8)
        assert stage.reason(row) == ("running", "ready")
        assert stage.now(row).replicas_ready == 2
        assert set(pod) < set(stage.names("Pod"))
        services.change(owner, workload_id=row.pk, data={"min_replicas": 1})
        stage.run(8)
        assert len(stage.names("Pod")) == 1
        request = stage.now(row).request
        assert isinstance(request, Endpoint)
        assert (request.min_replicas, request.max_replicas) == (1, 1)

    def test_labels_reach_the_top_of_every_object_and_old_ones_go(self, stage: Stage, owner: Person) -> None:
        row = served(stage, owner, labels={"cost": "a", "old": "x"})
        pods = stage.names("Pod")
        services.change(owner, workload_id=row.pk, data={"labels": {"cost": "b"}})
        stage.run(3)
        for kind in ("Deployment", "Service", "HTTPRoute", "Secret"):
            labels = stage.objects(kind)[0]["metadata"]["labels"]
            assert labels["cost"] == "b", kind
            assert "old" not in labels, kind
            assert labels["turno.dev/workload"] == str(row.pk)
        assert stage.names("Pod") == pods

    def test_more_replicas_than_could_ever_run_are_refused(self, stage: Stage, owner: Person) -> None:
        row = served(stage, owner)
        with pytest.raises(Invalid) as refused:
            services.change(owner, workload_id=row.pk, data={"min_replicas": 9})
        assert refused.value.errors[0].code == "exceeds_maximum"


def test_its_time_over_it_is_stopped(stage: Stage, owner: Person) -> None:
    row = served(stage, owner, max_duration=60)
    assert stage.now(row).deadline_at is not None
    assert services.over_deadline() == []
    stage.clock.move(seconds=60)
    assert services.over_deadline() == [row.pk]
    assert services.stop_by_deadline(workload_id=row.pk)
    stage.run(6)
    assert stage.reason(row) == ("stopped", "stopped_deadline")


class TestItsAddress:
    """What a caller is told there, at once, in every state: the status, the state and the sentence."""

    def asked(self, stage: Stage, row: Workload, key: str) -> tuple[int, str, str]:
        sent: list[Any] = []

        async def call() -> None:
            async def receive() -> dict[str, Any]:
                return {"type": "http.request", "body": b""}

            async def send(message: Any) -> None:
                sent.append(message)

            headers = [(b"authorization", f"Bearer {key}".encode())] if key else []
            scope = {"type": "http", "method": "GET", "path": f"/e/{row.pk}/v1/models", "headers": headers}
            await DataPlane(stage.engine.cluster.manager, "http://127.0.0.1:1")(scope, receive, send)

        asyncio.run_coroutine_threadsafe(call(), stage.engine.loop).result(10)
        said = orjson.loads(b"".join(one.get("body", b"") for one in sent[1:]))
        waits = dict(sent[0]["headers"]).get(b"retry-after")
        assert (waits is not None) == (sent[0]["status"] == 503)
        return sent[0]["status"], said.get("state", ""), said.get("message", "")

    def test_while_it_waits_loads_runs_stops_and_when_it_is_gone(self, stage: Stage, owner: Person) -> None:
        long = {"TURNO_SIM_SECONDS": "600"}
        for name in ("runs", "ahead"):
            blocker = stage.submit(owner, name=name, flavor="h100", env=long)
        row = stage.submit(owner, "endpoint", flavor="h100")
        key = selectors.key(owner, row.pk)["key"]
        assert self.asked(stage, row, key) == (503, "queued", "It waits in the queue at position 2.")
        stage.stop(owner, blocker)
        stage.run(3)
        assert self.asked(stage, row, key) == (503, "queued", "It waits in the queue at position 1.")
        assert self.asked(stage, row, "")[0] == 401
        services.stop(owner, workload_id=Workload.objects.get(name="runs").pk)
        stage.run(3)
        assert self.asked(stage, row, key)[:2] == (503, "loading")
        stage.run(8)
        assert self.asked(stage, row, key)[0] == 200
        services.stop(owner, workload_id=row.pk)
        stage.settle()
        assert self.asked(stage, row, key)[:2] == (503, "stopping")
        assert self.asked(stage, row, "")[0] == 401
        stage.run(40, step=5)
        assert self.asked(stage, row, key) == (503, "stopped", "It is stopped.")
        services.delete(owner, workload_id=row.pk)
        stage.run(3)
        assert self.asked(stage, row, key)[0] == 404

    def test_when_it_failed(self, stage: Stage, owner: Person) -> None:
        row = stage.submit(owner, "endpoint", env={"TURNO_SIM_EXIT": "image"})
        key = selectors.key(owner, row.pk)["key"]
        stage.run(3)
        assert stage.reason(row) == ("failed", "image_cannot_be_pulled")
        assert self.asked(stage, row, key) == (503, "stopped", "It is stopped.")
        assert self.asked(stage, row, "")[0] == 401
