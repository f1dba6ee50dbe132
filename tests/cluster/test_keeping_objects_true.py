"""`applied.keep`: written once, mended when changed or removed, never over somebody else's object."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from portal.cluster import names, selectors
from portal.cluster.applied import Drift, NameTaken, Outcome, keep
from portal.cluster.kube import Connection, KubeGateway
from portal.cluster.mirror import Mirror, entry
from portal.cluster.models import Cluster
from portal.cluster.port import JsonObject, ObjectRef
from tests.cluster.loopback import Loopback, simulated
from tests.factories.cluster import cluster
from tests.faultproxy.proxy import FaultProxy

pytestmark = pytest.mark.django_db
SPACE = "turno-data"


class Keeping:
    """One row's objects: what it remembers, and the requests it makes."""

    def __init__(self, on: Cluster, proxy: FaultProxy) -> None:
        self.on = on
        self.proxy = proxy
        self.gateway = KubeGateway(Connection(proxy.address), manager="turno-turno")
        self.applied: dict[str, Any] = {}
        self.writes = 0

    def keep(self, *manifests: JsonObject) -> Outcome:
        del self.proxy.seen[:]
        found = keep(
            self.gateway,
            manifests,
            applied=self.applied,
            mirrored=selectors.mirrored(self.on.pk, manifests),
            instance="turno",
            before_write=self._count,
        )
        self.applied = found.applied
        return found

    def _count(self) -> None:
        self.writes += 1

    @property
    def requests(self) -> list[str]:
        return [request.split()[0] for request in self.proxy.seen]

    def mirror(self, kind: str, name: str) -> JsonObject:
        """The watcher catches up with one object."""
        found = self.gateway.get(ObjectRef(kind, name, SPACE))
        assert found is not None
        Mirror(self.on, lambda: None).write([entry(found, "turno")], {})
        return found

    def unmirror(self, obj: JsonObject) -> None:
        Mirror(self.on, lambda: None).write([entry(obj, "turno", gone=True)], {})


@pytest.fixture
def server() -> Iterator[Loopback]:
    with simulated() as found:
        namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": SPACE}}
        found.call(lambda: found.store.create(namespace))
        yield found


@pytest.fixture
def keeping(db: None, server: Loopback) -> Iterator[Keeping]:
    with FaultProxy(server.address) as proxy:
        yield Keeping(cluster(), proxy)


def manifest(name: str = "a", kind: str = "ConfigMap", **data: str) -> JsonObject:
    metadata = {"name": name, "namespace": SPACE, "labels": names.base_labels("turno")}
    found: JsonObject = {"apiVersion": "v1", "kind": kind, "metadata": metadata}
    if kind == "PersistentVolumeClaim":
        return {**found, "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}}
    return {**found, "data": data}


def test_what_is_new_is_written_and_undisturbed_it_costs_no_request(keeping: Keeping) -> None:
    first = keeping.keep(manifest(x="1"))
    keeping.mirror("ConfigMap", "a")
    again = keeping.keep(manifest(x="1"))

    assert first.written == ("ConfigMap/a",)
    assert (again.written, again.drift, keeping.requests) == ((), (), [])
    assert keeping.writes == 1


def test_before_the_mirror_catches_up_nothing_is_written_twice(keeping: Keeping) -> None:
    keeping.keep(manifest(x="1"))
    again = keeping.keep(manifest(x="1"))

    assert (again.written, keeping.requests) == ((), ["GET"])


def test_a_changed_manifest_is_written(keeping: Keeping) -> None:
    keeping.keep(manifest(x="1"))
    keeping.mirror("ConfigMap", "a")
    changed = keeping.keep(manifest(x="2"))

    assert (changed.written, changed.drift) == (("ConfigMap/a",), ())
    assert keeping.mirror("ConfigMap", "a")["data"] == {"x": "2"}


def test_a_mirror_that_is_older_than_our_write_is_no_drift(keeping: Keeping) -> None:
    keeping.keep(manifest(x="1"))
    keeping.mirror("ConfigMap", "a")
    keeping.keep(manifest(x="2"))
    late = keeping.keep(manifest(x="2"))

    assert (late.written, late.drift, keeping.requests) == ((), (), [])


def test_a_change_by_somebody_else_is_mended_and_told_with_the_managers_name(keeping: Keeping) -> None:
    keeping.keep(manifest(x="1"))
    theirs = KubeGateway(Connection(keeping.proxy.address), manager="kubectl")
    theirs.apply(manifest(x="theirs", extra="stays"), force=True)
    keeping.mirror("ConfigMap", "a")
    mended = keeping.keep(manifest(x="1"))

    assert mended.drift == (Drift("ConfigMap/a", {".data.x": "kubectl"}),)
    assert keeping.mirror("ConfigMap", "a")["data"] == {"x": "1", "extra": "stays"}
    assert keeping.keep(manifest(x="1")).written == ()


def test_an_object_that_was_removed_is_made_again_after_a_fresh_look(keeping: Keeping) -> None:
    keeping.keep(manifest(x="1"))
    seen = keeping.mirror("ConfigMap", "a")
    keeping.gateway.delete(ObjectRef("ConfigMap", "a", SPACE), uid=seen["metadata"]["uid"])
    keeping.unmirror(seen)
    again = keeping.keep(manifest(x="1"))

    assert (again.recreated, keeping.requests) == (("ConfigMap/a",), ["GET", "PATCH"])


def test_a_volume_that_was_removed_is_lost_and_never_made_again(keeping: Keeping) -> None:
    claim = manifest("home", "PersistentVolumeClaim")
    keeping.keep(claim)
    seen = keeping.mirror("PersistentVolumeClaim", "home")
    keeping.gateway.delete(ObjectRef("PersistentVolumeClaim", "home", SPACE), uid=seen["metadata"]["uid"])
    keeping.unmirror(seen)
    for _ in range(2):
        found = keeping.keep(claim)
        assert (found.lost, found.written) == (("PersistentVolumeClaim/home",), ())


def test_somebody_elses_object_of_the_name_is_not_touched(keeping: Keeping) -> None:
    theirs = {**manifest(x="theirs"), "metadata": {"name": "a", "namespace": SPACE}}
    made = keeping.gateway.create(theirs)

    with pytest.raises(NameTaken, match="ConfigMap/a"):
        keeping.keep(manifest(x="1"))

    assert keeping.gateway.get(ObjectRef("ConfigMap", "a", SPACE)) == made
    assert keeping.writes == 0


def test_secrets_are_applied_every_time_since_no_mirror_may_hold_them(keeping: Keeping) -> None:
    for _ in range(2):
        found = keeping.keep(manifest("key", "Secret", token="eA=="))
        assert found.written == ("Secret/key",)
        assert found.recreated == ()


def test_a_lease_that_was_lost_stops_before_the_write(keeping: Keeping) -> None:
    def lost() -> None:
        raise InterruptedError

    with pytest.raises(InterruptedError):
        keep(keeping.gateway, [manifest()], applied={}, mirrored={}, instance="turno", before_write=lost)

    assert "PATCH" not in keeping.requests


def test_what_was_written_before_an_error_is_found_again(keeping: Keeping) -> None:
    broken = manifest("Not_Valid")
    with pytest.raises(Exception, match="Not_Valid"):
        keeping.keep(manifest(x="1"), broken)
    found = keeping.keep(manifest(x="1"))

    assert found.written == ("ConfigMap/a",)
    assert found.drift == ()
