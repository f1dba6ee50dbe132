"""Whatever happens to the connection and to the server, the mirror ends where the cluster is."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from portal.cluster import names, selectors
from portal.cluster.models import Cluster, MirrorObject
from portal.cluster.port import JsonObject
from portal.cluster.streams import Listed, Restarted, Trouble
from tests.cluster.loopback import Loopback, simulated
from tests.cluster.watching import watching
from tests.factories.cluster import cluster
from tests.faultproxy.proxy import Fault, FaultProxy

pytestmark = pytest.mark.django_db

LABELS = names.base_labels("turno")


@pytest.fixture
def on(db: None) -> Cluster:
    return cluster()


@pytest.fixture
def server() -> Iterator[Loopback]:
    with simulated() as found:
        found.call(lambda: found.store.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "a"}}))
        yield found


@pytest.fixture
def proxy(server: Loopback) -> Iterator[FaultProxy]:
    with FaultProxy(server.address) as found:
        yield found


def add(server: Loopback, name: str, **data: str) -> JsonObject:
    manifest = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": name, "namespace": "a", "labels": dict(LABELS), "annotations": data},
    }
    return server.call(lambda: server.store.create(manifest))


def annotate(server: Loopback, name: str, note: str) -> None:
    def change(obj: JsonObject) -> None:
        obj["metadata"]["annotations"] = {"note": note}

    server.call(lambda: server.store.mutate("ConfigMap", "a", name, change))


def remove(server: Loopback, name: str) -> None:
    server.call(lambda: server.store.delete("ConfigMap", "a", name))


def shown() -> dict[str, str]:
    rows = MirrorObject.objects.filter(kind="ConfigMap")
    return {row.name: row.data["metadata"].get("annotations", {}).get("note", "") for row in rows}


def test_what_was_there_and_what_comes_is_mirrored(on: Cluster, server: Loopback) -> None:
    add(server, "before")
    with watching(on, server.address, "ConfigMap") as watch:
        watch.until(lambda: shown() == {"before": ""})
        add(server, "after")
        annotate(server, "before", "changed")
        watch.until(lambda: shown() == {"before": "changed", "after": ""})
        remove(server, "before")
        watch.until(lambda: shown() == {"after": ""})

    assert selectors.as_of(on.pk, "ConfigMap") is not None


def test_only_objects_of_this_instance_are_mirrored(on: Cluster, server: Loopback) -> None:
    foreign = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "theirs", "namespace": "a"}}
    server.call(lambda: server.store.create(foreign))
    add(server, "ours")
    with watching(on, server.address, "ConfigMap") as watch:
        watch.until(lambda: watch.heard(Listed))

    assert shown() == {"ours": ""}


def test_a_list_of_many_pages_is_whole(on: Cluster, server: Loopback, proxy: FaultProxy) -> None:
    for number in range(1200):
        add(server, f"item-{number:04d}")
    with watching(on, proxy.address, "ConfigMap") as watch:
        watch.until(lambda: len(shown()) == 1200)

    assert len([request for request in proxy.seen if "limit=500" in request]) == 3


def test_a_cut_watch_goes_on_where_it_was(on: Cluster, server: Loopback, proxy: FaultProxy) -> None:
    with watching(on, proxy.address, "ConfigMap") as watch:
        watch.until(lambda: watch.heard(Listed))
        for number in range(3):
            proxy.cut()
            add(server, f"item-{number}")
            watch.until(lambda wanted=number + 1: len(shown()) == wanted)

        assert len(watch.heard(Listed)) == 1


def test_an_event_cut_in_the_middle_is_not_lost(on: Cluster, server: Loopback, proxy: FaultProxy) -> None:
    proxy.add(Fault("truncate", match="watch=1", times=1, bytes=300))
    with watching(on, proxy.address, "ConfigMap") as watch:
        watch.until(lambda: watch.heard(Listed))
        add(server, "a", note="x" * 300)
        watch.until(lambda: shown().keys() == {"a"})

    assert proxy.taken


def test_a_silent_watch_is_noticed(on: Cluster, server: Loopback, proxy: FaultProxy) -> None:
    proxy.add(Fault("mute", match="watch=1", times=1, bytes=0, seconds=30))
    with watching(on, proxy.address, "ConfigMap") as watch:
        watch.until(lambda: proxy.taken)
        add(server, "a")
        watch.until(lambda: shown().keys() == {"a"})


def test_a_version_that_is_too_old_is_listed_again_and_what_went_meanwhile_is_gone(
    on: Cluster, server: Loopback, proxy: FaultProxy
) -> None:
    add(server, "stays")
    add(server, "goes")
    with watching(on, proxy.address, "ConfigMap") as watch:
        watch.until(lambda: len(shown()) == 2)
        proxy.add(Fault("status", match="watch=1", times=1, status=410))
        proxy.cut()
        remove(server, "goes")
        watch.until(lambda: shown().keys() == {"stays"})
        watch.until(lambda: len(watch.heard(Listed)) == 2)


def test_a_restarted_watcher_resumes_and_sees_what_went_while_it_was_away(on: Cluster, server: Loopback) -> None:
    add(server, "goes")
    with watching(on, server.address, "ConfigMap") as watch:
        watch.until(lambda: len(shown()) == 1 and watch.heard(Listed))
    remove(server, "goes")
    add(server, "comes")
    with watching(on, server.address, "ConfigMap") as watch:
        watch.until(lambda: shown().keys() == {"comes"})

        assert watch.heard(Listed) == []


def test_errors_and_too_many_requests_are_waited_out(on: Cluster, server: Loopback, proxy: FaultProxy) -> None:
    add(server, "a")
    proxy.add(Fault("status", match="limit=500", times=2, status=500))
    proxy.add(Fault("status", match="limit=500", times=1, status=429, retry_after=1))
    proxy.add(Fault("hang", match="limit=500", times=1, seconds=1))
    with watching(on, proxy.address, "ConfigMap") as watch:
        watch.until(lambda: shown().keys() == {"a"})
        watch.until(lambda: watch.heard(Trouble)[-1:] == [Trouble("ConfigMap", None)])

    assert len(proxy.taken) == 4


def test_a_server_restored_from_an_older_snapshot_leaves_no_ghosts(on: Cluster) -> None:
    with simulated() as lost:
        lost.call(lambda: lost.store.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "a"}}))
        for number in range(30):
            add(lost, f"item-{number}")
        with watching(on, lost.address, "ConfigMap") as watch:
            watch.until(lambda: len(shown()) == 30 and watch.heard(Listed))
    with simulated() as restored:
        restored.call(
            lambda: restored.store.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "a"}})
        )
        add(restored, "item-0", note="restored")
        with watching(on, restored.address, "ConfigMap") as watch:
            watch.until(lambda: shown() == {"item-0": "restored"})
            assert watch.heard(Restarted)
            add(restored, "item-1")
            watch.until(lambda: shown().keys() == {"item-0", "item-1"})


def test_a_kind_that_is_not_served_is_told_and_never_known(on: Cluster, server: Loopback, proxy: FaultProxy) -> None:
    proxy.add(Fault("status", match="/httproutes", status=404))
    with watching(on, proxy.address, "HTTPRoute") as watch:
        watch.until(lambda: watch.heard(Trouble))

    assert selectors.as_of(on.pk, "HTTPRoute") is None


def test_a_watch_of_quiet_objects_stays_as_of_now_by_bookmarks(on: Cluster, server: Loopback) -> None:
    with watching(on, server.address, "ConfigMap") as watch:
        watch.until(lambda: watch.heard(Listed))
        first = selectors.as_of(on.pk, "ConfigMap")
        watch.until(lambda: selectors.as_of(on.pk, "ConfigMap") > first)  # type: ignore[operator]
