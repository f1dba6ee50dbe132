"""Watches in process: what each sees, in which order, and its bookmarks."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator
from typing import Any

from portal.cluster.simulated.objects import Obj
from portal.cluster.simulated.reads import selection
from portal.cluster.simulated.routes import route
from portal.cluster.simulated.store import Store
from portal.cluster.simulated.watches import Watch, WatchOptions, watch_options


def watch(store: Store, *, bookmark_every: float = 10.0, **query: str) -> AsyncGenerator[bytes, None]:
    found = route("/api/v1/namespaces/default/configmaps")
    assert found is not None
    wanted = selection(found.resource, found.namespace, query)
    return Watch(store, wanted, watch_options(query, bookmark_every)).stream()


async def events(stream: AsyncGenerator[bytes, None], count: int) -> list[tuple[str, str]]:
    """(type, name) of the next events."""
    found = []
    for _ in range(count):
        event = json.loads(await asyncio.wait_for(anext(stream), 5))
        found.append((event["type"], event["object"]["metadata"].get("name", "")))
    return found


def put(store: Store, name: str, namespace: str = "default", **labels: str) -> Obj:
    meta = {"name": name, "namespace": namespace, "labels": labels}
    current = store.get("ConfigMap", namespace, name)
    if current is None:
        return store.create({"apiVersion": "v1", "kind": "ConfigMap", "metadata": meta})
    current["metadata"]["labels"] = labels
    return store.update(current)


async def test_present_state_comes_first_and_then_the_changes(store: Store) -> None:
    put(store, "a")
    stream = watch(store)

    assert await events(stream, 2) == [("ADDED", "a"), ("ADDED", "kube-root-ca.crt")]
    put(store, "b")
    store.delete("ConfigMap", "default", "a")
    assert await events(stream, 2) == [("ADDED", "b"), ("DELETED", "a")]
    await stream.aclose()


async def test_nothing_is_missed_between_the_request_and_the_first_read(store: Store) -> None:
    stream = watch(store, labelSelector="g=p")
    put(store, "a", g="p")

    assert await events(stream, 1) == [("ADDED", "a")]
    await stream.aclose()


async def test_object_enters_and_leaves_the_selector(store: Store) -> None:
    stream = watch(store, resourceVersion=str(store.rv), labelSelector="g=p")
    for group in ("q", "p", "p", "q", "p"):
        put(store, "a", g=group)
    put(store, "other", namespace="kube-system", g="p")
    store.delete("ConfigMap", "default", "a")

    assert await events(stream, 4) == [("ADDED", "a"), ("DELETED", "a"), ("ADDED", "a"), ("DELETED", "a")]
    await stream.aclose()


async def test_resume_replays_each_change_once(store: Store) -> None:
    version = str(store.rv)
    put(store, "a")
    put(store, "a", g="p")
    stream = watch(store, resourceVersion=version)
    put(store, "b")

    assert await events(stream, 3) == [("ADDED", "a"), ("MODIFIED", "a"), ("ADDED", "b")]
    await stream.aclose()


async def test_end_of_the_initial_state_is_marked(store: Store) -> None:
    query = {"sendInitialEvents": "true", "resourceVersionMatch": "NotOlderThan", "allowWatchBookmarks": "true"}
    stream = watch(store, **query)

    assert await events(stream, 1) == [("ADDED", "kube-root-ca.crt")]
    bookmark = json.loads(await anext(stream))
    assert bookmark["object"]["metadata"] == {
        "resourceVersion": str(store.rv),
        "annotations": {"k8s.io/initial-events-end": "true"},
    }
    await stream.aclose()


async def test_bookmark_carries_the_version_that_others_have_moved(store: Store) -> None:
    stream = watch(store, bookmark_every=0.05, resourceVersion=str(store.rv), allowWatchBookmarks="true")
    put(store, "elsewhere", namespace="kube-system")

    bookmark: Any = json.loads(await asyncio.wait_for(anext(stream), 5))

    assert (bookmark["type"], bookmark["object"]["metadata"]["resourceVersion"]) == ("BOOKMARK", str(store.rv))
    await stream.aclose()


async def test_watch_from_a_future_version_waits_for_it(store: Store) -> None:
    stream = watch(store, resourceVersion=str(store.rv + 2))
    for name in ("a", "b", "c"):
        put(store, name)

    assert await events(stream, 1) == [("ADDED", "c")]
    await stream.aclose()


async def test_watcher_that_is_too_slow_is_cut_off(store: Store) -> None:
    found = route("/api/v1/namespaces/default/configmaps")
    assert found is not None
    options = WatchOptions(since=store.rv, initial_end=False, bookmark_every=None, timeout=60)
    slow = Watch(store, selection(found.resource, "default", {}), options, backlog=3)
    for name in ("a", "b", "c", "d"):
        put(store, name)

    assert [line async for line in slow.stream()] == []
    assert store.subscribers == 0
