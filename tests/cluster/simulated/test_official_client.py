"""The official Kubernetes client drives the API over a real port."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import pytest
from kubernetes.client.api_client import ApiClient
from kubernetes.client.configuration import Configuration

from tests.cluster.simulated.conftest import APPLY, MERGE, Served, lines

MAPS = "/api/v1/namespaces/default/configmaps"


class Client:
    """Raw calls of the official client: (status, JSON)."""

    def __init__(self, served: Served) -> None:
        configuration = Configuration(host=served.url)
        configuration.retries = False
        configuration.proxy = None
        self._client = ApiClient(configuration)
        self._client.user_agent = "turno"

    def open(self, method: str, path: str, body: Any = None, *, media: str = "", **query: str) -> Any:
        headers = {"Accept": "application/json", **({"Content-Type": media} if media else {})}
        method, url, sent, *_ = self._client.param_serialize(
            method=method, resource_path=path, query_params=list(query.items()), header_params=headers
        )
        return self._client.call_api(method, url, sent, body=body, _request_timeout=(2, 10)).response

    def __call__(self, method: str, path: str, body: Any = None, *, media: str = "", **query: str) -> tuple[int, Any]:
        media = media or ("application/json" if body is not None else "")
        response = self.open(method, path, body, media=media, **query)
        return response.status, json.loads(response.data)

    def watch(self, path: str, **query: str) -> Iterator[Any]:
        response = self.open("GET", path, watch="1", **query)
        try:
            yield from lines(response.read_chunked())
        finally:
            response.close()

    def config_map(self, name: str, **labels: str) -> dict[str, Any]:
        status, created = self("POST", MAPS, {"metadata": {"name": name, "labels": labels}, "data": {"a": "1"}})
        assert status == 201
        return dict(created)


@pytest.fixture
def client(served: Served) -> Client:
    return Client(served)


def test_create_get_and_delete_with_a_precondition(client: Client) -> None:
    made = client.config_map("c1")
    uid = made["metadata"]["uid"]

    assert client("GET", f"{MAPS}/c1") == (200, made)
    assert client("DELETE", f"{MAPS}/c1", {"preconditions": {"uid": "another"}})[0] == 409
    assert client("DELETE", f"{MAPS}/c1", {"preconditions": {"uid": uid}, "propagationPolicy": "Background"})[0] == 200
    assert client("GET", f"{MAPS}/c1")[0] == 404


def test_apply_conflicts_with_another_manager(client: Client) -> None:
    config = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c1"}, "data": {"a": "1"}}
    assert client("PATCH", f"{MAPS}/c1", config, media=APPLY, fieldManager="turno-x")[0] == 201
    theirs = {**config, "data": {"a": "2"}}

    status, refused = client("PATCH", f"{MAPS}/c1", theirs, media=APPLY, fieldManager="kubectl")

    assert status == 409
    assert refused["details"]["causes"] == [
        {"reason": "FieldManagerConflict", "message": 'conflict with "turno-x"', "field": ".data.a"}
    ]
    assert client("PATCH", f"{MAPS}/c1", theirs, media=APPLY, fieldManager="kubectl", force="true")[0] == 200


def test_merge_patch_holds_to_uid_and_version(client: Client) -> None:
    meta = client.config_map("c1")["metadata"]
    fence = {"uid": meta["uid"], "resourceVersion": meta["resourceVersion"]}

    status, patched = client("PATCH", f"{MAPS}/c1", {"metadata": fence, "data": {"b": "2"}}, media=MERGE)
    assert (status, patched["data"]) == (200, {"a": "1", "b": "2"})

    assert client("PATCH", f"{MAPS}/c1", {"metadata": fence, "data": {"b": "3"}}, media=MERGE)[0] == 409
    wrong = {"metadata": {"uid": "another"}, "data": {"b": "3"}}
    assert client("PATCH", f"{MAPS}/c1", wrong, media=MERGE)[0] == 422


def test_pages_of_a_list_are_of_one_moment(client: Client) -> None:
    for number in range(5):
        client.config_map(f"p{number}", g="p")

    names, token = [], ""
    while True:
        query = {"continue": token} if token else {}
        status, page = client("GET", MAPS, limit="2", labelSelector="g=p", **query)
        assert status == 200
        names += [item["metadata"]["name"] for item in page["items"]]
        token = page["metadata"].get("continue", "")
        client("DELETE", f"{MAPS}/p4")
        client("POST", MAPS, {"metadata": {"name": f"p3-{len(names)}", "labels": {"g": "p"}}})
        if not token:
            break

    assert names == ["p0", "p1", "p2", "p3", "p4"]


def test_watch_resumes_where_the_last_one_ended(client: Client) -> None:
    client.config_map("c1")
    version = client("GET", MAPS)[1]["metadata"]["resourceVersion"]
    client.config_map("c2")
    client("DELETE", f"{MAPS}/c1")

    events = client.watch(MAPS, resourceVersion=version, timeoutSeconds="5")
    first = next(events)
    assert (first["type"], first["object"]["metadata"]["name"]) == ("ADDED", "c2")
    events.close()

    again = client.watch(MAPS, resourceVersion=first["object"]["metadata"]["resourceVersion"], timeoutSeconds="5")
    event = next(again)
    assert (event["type"], event["object"]["metadata"]["name"]) == ("DELETED", "c1")
    again.close()


def test_watch_sends_each_change_at_once(client: Client, served: Served) -> None:
    version = str(served.inside(lambda: served.store.rv))
    events = client.watch(MAPS, resourceVersion=version, timeoutSeconds="5")
    maker = threading.Timer(0.1, client.config_map, ("late",))
    maker.start()

    assert next(events)["object"]["metadata"]["name"] == "late"

    events.close()
    maker.join()


def test_watch_from_a_version_no_longer_held_is_told_410(client: Client, served: Served) -> None:
    client.config_map("c1")
    version = str(served.inside(lambda: served.store.rv - 1))
    served.inside(served.store.forget_history)

    events = list(client.watch(MAPS, resourceVersion=version, timeoutSeconds="5"))

    assert [(event["type"], event["object"]["code"], event["object"]["reason"]) for event in events] == [
        ("ERROR", 410, "Expired")
    ]


def test_idle_watch_is_sent_bookmarks(client: Client, served: Served) -> None:
    client.config_map("c1")
    version = str(served.inside(lambda: served.store.rv))

    events = client.watch(MAPS, resourceVersion=version, allowWatchBookmarks="true", timeoutSeconds="5")
    bookmark = next(events)
    events.close()

    assert bookmark == {
        "type": "BOOKMARK",
        "object": {"kind": "ConfigMap", "apiVersion": "v1", "metadata": {"resourceVersion": version}},
    }


def test_watch_ends_at_its_timeout(client: Client, served: Served) -> None:
    version = str(served.inside(lambda: served.store.rv))

    assert list(client.watch(MAPS, resourceVersion=version, timeoutSeconds="1")) == []


def test_watcher_that_leaves_is_forgotten(client: Client, served: Served) -> None:
    events = client.watch(MAPS, resourceVersion="0", timeoutSeconds="60")
    next(events)
    events.close()

    for _ in range(100):
        client.config_map("c1")
        client("DELETE", f"{MAPS}/c1")
        if served.inside(lambda: served.store.subscribers) == 0:
            break
    assert served.inside(lambda: served.store.subscribers) == 0


def test_logs_are_followed_until_the_container_ends(client: Client, served: Served) -> None:
    pod = served.inside(lambda: running_pod(served))
    at = datetime(2026, 12, 1, 9, tzinfo=UTC)
    served.inside(lambda: served.logs.append(pod, "main", 0, at, b"one\n"))
    response = client.open("GET", "/api/v1/namespaces/default/pods/p/log", follow="true", timestamps="true")
    pieces = response.read_chunked()

    assert next(pieces) == b"2026-12-01T09:00:00.000000000Z one\n"
    served.inside(lambda: served.logs.append(pod, "main", 0, at, b"t\xffwo\n"))
    assert next(pieces) == b"2026-12-01T09:00:00.000000000Z t\xffwo\n"
    served.inside(lambda: served.logs.end(pod, "main", 0))
    assert list(pieces) == []


def running_pod(served: Served) -> str:
    """The uid of a pod that runs one container."""
    spec = {"nodeName": "n", "containers": [{"name": "main", "image": "x"}]}
    meta = {"name": "p", "namespace": "default"}
    state = {"name": "main", "restartCount": 0, "state": {"running": {}}}
    status = {"phase": "Running", "containerStatuses": [state]}
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": spec, "status": status}
    return str(served.store.create(pod)["metadata"]["uid"])
