"""What every engine must do behind the cluster door. The same tests run on the simulated and on a real API server."""

from __future__ import annotations

import itertools
import uuid

import pytest

from portal.cluster.kube import Connection, KubeGateway
from portal.cluster.port import (
    AlreadyExists,
    ClusterError,
    Expired,
    FieldConflict,
    InvalidObject,
    Missing,
    ObjectRef,
    Unreachable,
    VersionConflict,
    WatchEvent,
)
from tests.contract.conftest import QUICK, Engine
from tests.faultproxy.proxy import Fault, FaultProxy

OTHER_UID = "00000000-0000-0000-0000-000000000000"


def test_create_gives_uid_and_version_and_keeps_what_was_sent(engine: Engine) -> None:
    made = engine.gateway().create(engine.config_map("a", x="1"))

    assert made["metadata"]["uid"]
    assert int(made["metadata"]["resourceVersion"]) > 0
    assert made["data"] == {"x": "1"}
    assert engine.gateway().get(engine.ref("a")) == made


def test_create_of_a_taken_name_is_already_exists(engine: Engine) -> None:
    engine.gateway().create(engine.config_map("a"))

    with pytest.raises(AlreadyExists, match="already exists") as caught:
        engine.gateway().create(engine.config_map("a"))

    assert not caught.value.retryable


def test_create_in_a_missing_namespace_is_missing(engine: Engine) -> None:
    manifest = engine.config_map("a")
    manifest["metadata"]["namespace"] = "nowhere-at-all"

    with pytest.raises(Missing):
        engine.gateway().create(manifest)


def test_an_invalid_object_names_its_fields(engine: Engine) -> None:
    with pytest.raises(InvalidObject) as caught:
        engine.gateway().create(engine.config_map("Not_Valid"))

    assert list(caught.value.causes) == ["metadata.name"]


def test_get_of_a_missing_object_is_none(engine: Engine) -> None:
    assert engine.gateway().get(engine.ref("none")) is None


def test_apply_creates_and_again_changes_nothing(engine: Engine) -> None:
    first = engine.gateway().apply(engine.config_map("a", x="1"))
    again = engine.gateway().apply(engine.config_map("a", x="1"))

    assert again["metadata"]["resourceVersion"] == first["metadata"]["resourceVersion"]


def test_apply_removes_what_it_owned_and_no_longer_says(engine: Engine) -> None:
    engine.gateway().apply(engine.config_map("a", x="1", y="2"))
    after = engine.gateway().apply(engine.config_map("a", x="1"))

    assert after["data"] == {"x": "1"}


def test_apply_leaves_other_peoples_extra_fields(engine: Engine) -> None:
    engine.gateway().apply(engine.config_map("a", x="1"))
    engine.gateway("kubectl").apply(engine.config_map("a", theirs="yes"))
    after = engine.gateway().apply(engine.config_map("a", x="2"))

    assert after["data"] == {"x": "2", "theirs": "yes"}


def test_apply_over_another_managers_field_says_whose_it_is_and_force_takes_it(engine: Engine) -> None:
    engine.gateway("kubectl").apply(engine.config_map("a", x="theirs"))

    with pytest.raises(FieldConflict) as caught:
        engine.gateway().apply(engine.config_map("a", x="ours"))

    assert caught.value.owners == {".data.x": "kubectl"}
    assert engine.gateway().apply(engine.config_map("a", x="ours"), force=True)["data"] == {"x": "ours"}


def test_patch_changes_exactly_the_object_that_was_seen(engine: Engine) -> None:
    made = engine.gateway().create(engine.config_map("a", x="1"))["metadata"]
    seen = {"uid": made["uid"], "resource_version": made["resourceVersion"]}

    patched = engine.gateway().patch(engine.ref("a"), {"data": {"x": None, "y": "2"}}, **seen)

    assert patched["data"] == {"y": "2"}


@pytest.mark.parametrize("stale", ["uid", "resource_version"])
def test_patch_of_a_changed_or_replaced_object_is_a_version_conflict(engine: Engine, stale: str) -> None:
    made = engine.gateway().create(engine.config_map("a", x="1"))["metadata"]
    changed = engine.gateway().apply(engine.config_map("a", z="3"))["metadata"]
    seen = {"uid": made["uid"], "resource_version": changed["resourceVersion"]}
    seen[stale] = OTHER_UID if stale == "uid" else made["resourceVersion"]

    with pytest.raises(VersionConflict) as caught:
        engine.gateway().patch(engine.ref("a"), {"data": {"x": "2"}}, **seen)

    assert caught.value.retryable


def test_patch_of_a_missing_object_is_missing(engine: Engine) -> None:
    with pytest.raises(Missing):
        engine.gateway().patch(engine.ref("none"), {"data": {}}, uid=OTHER_UID, resource_version="1")


def test_delete_removes_the_uid_and_a_second_time_is_success(engine: Engine) -> None:
    uid = engine.gateway().create(engine.config_map("a"))["metadata"]["uid"]

    engine.gateway().delete(engine.ref("a"), uid=uid)
    engine.gateway().delete(engine.ref("a"), uid=uid)

    assert engine.gateway().get(engine.ref("a")) is None


def test_delete_of_another_uid_under_the_name_is_success_and_leaves_it(engine: Engine) -> None:
    engine.gateway().create(engine.config_map("a"))

    engine.gateway().delete(engine.ref("a"), uid=OTHER_UID)

    assert engine.gateway().get(engine.ref("a")) is not None


def test_list_pages_through_everything_once(engine: Engine) -> None:
    for number in range(5):
        engine.gateway().create(engine.config_map(f"item-{number}"))
    gateway, names, token = engine.gateway(), [], ""
    selector = "turno.dev/instance=contract"
    while True:
        page = gateway.list("ConfigMap", namespace=engine.namespace, selector=selector, limit=2, continue_token=token)
        names += [item["metadata"]["name"] for item in page.items]
        token = page.next
        if not token:
            break

    assert names == [f"item-{number}" for number in range(5)]
    assert int(page.resource_version) > 0
    assert {item["kind"] for item in page.items} == {"ConfigMap"}


def test_a_continue_token_that_is_none_is_expired(engine: Engine) -> None:
    with pytest.raises(Expired):
        engine.gateway().list("ConfigMap", namespace=engine.namespace, continue_token="zzz")


def changes(engine: Engine, since: str, count: int) -> list[WatchEvent]:
    """The next `count` events in the engine's namespace, bookmarks left out."""
    stream = engine.gateway().watch("ConfigMap", resource_version=since, timeout_seconds=5)
    here = (e for e in stream if e.object["metadata"].get("namespace") == engine.namespace)
    return list(itertools.islice(here, count))


def test_watch_goes_on_from_a_version_and_tells_every_change_in_order(engine: Engine) -> None:
    gateway = engine.gateway()
    since = gateway.list("ConfigMap", namespace=engine.namespace).resource_version
    uid = gateway.create(engine.config_map("a", x="1"))["metadata"]["uid"]
    gateway.apply(engine.config_map("a", y="2"))
    gateway.delete(engine.ref("a"), uid=uid)

    events = changes(engine, since, 3)

    assert [(e.type, e.object["metadata"]["name"]) for e in events] == [
        ("ADDED", "a"),
        ("MODIFIED", "a"),
        ("DELETED", "a"),
    ]
    versions = [int(event.resource_version) for event in events]
    assert versions == sorted(versions)


def test_watch_ends_in_silence_at_its_time_out(engine: Engine) -> None:
    gateway = engine.gateway()
    since = gateway.list("ConfigMap").resource_version

    assert [e for e in gateway.watch("ConfigMap", resource_version=since, timeout_seconds=1) if e.type == "NONE"] == []


def test_an_object_that_leaves_the_selector_is_deleted_for_the_watcher(engine: Engine) -> None:
    gateway = engine.gateway()
    made = gateway.create(engine.config_map("a"))["metadata"]
    patch = {"metadata": {"labels": {"turno.dev/instance": "other"}}}
    gateway.patch(engine.ref("a"), patch, uid=made["uid"], resource_version=made["resourceVersion"])

    stream = gateway.watch(
        "ConfigMap",
        resource_version=made["resourceVersion"],
        selector="turno.dev/instance=contract",
        timeout_seconds=5,
    )
    event = next(e for e in stream if e.object["metadata"].get("namespace") == engine.namespace)

    assert (event.type, event.object["metadata"]["name"]) == ("DELETED", "a")


def test_a_lost_answer_is_unreachable_and_the_object_is_there_once(engine: Engine) -> None:
    with engine.in_the_clear() as address, FaultProxy(address) as proxy:
        proxy.add(Fault("reset_after", match="^POST", times=1))
        through = KubeGateway(Connection(proxy.address), manager="turno-contract", timeouts=QUICK)

        with pytest.raises(Unreachable) as caught:
            through.create(engine.config_map("a", x="1"))
        with pytest.raises(AlreadyExists):
            through.create(engine.config_map("a", x="1"))

    assert caught.value.retryable
    assert [request.split()[0] for request in proxy.seen] == ["POST", "POST"]


def test_nobody_there_is_unreachable() -> None:
    gateway = KubeGateway(Connection("http://127.0.0.1:9"), manager="turno-contract", timeouts=QUICK)

    with pytest.raises(Unreachable):
        gateway.get(ObjectRef("Namespace", "default"))


def test_logs_of_a_missing_pod_are_missing(engine: Engine) -> None:
    with pytest.raises(ClusterError) as caught:
        list(engine.gateway().logs(engine.namespace, f"none-{uuid.uuid4().hex[:6]}", container="main"))

    assert isinstance(caught.value, Missing)


def test_discovery_tells_the_version_and_the_served_kinds(engine: Engine) -> None:
    found = engine.gateway().discover()

    assert found.version.startswith("v1.")
    assert {"Pod", "Namespace"} <= found.kinds["v1"]
    assert {"Workload", "ClusterQueue"} <= found.kinds["kueue.x-k8s.io/v1beta2"]
