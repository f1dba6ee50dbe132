"""How objects go: finalizers, owners and their dependents, preconditions, namespaces."""

from __future__ import annotations

from typing import Any

import pytest

from tests.contract.conftest import Engine, eventually

FINALIZER = "turno.dev/hold"
OTHER_UID = "00000000-0000-0000-0000-000000000000"


def held(engine: Engine, name: str) -> dict[str, Any]:
    obj = engine.config_map(name)
    obj["metadata"]["finalizers"] = [FINALIZER]
    return obj


def owned(engine: Engine, name: str, owner: dict[str, Any], *, blocks: bool = False) -> dict[str, Any]:
    obj = engine.config_map(name)
    ref = {
        "apiVersion": "v1",
        "kind": owner["kind"],
        "name": owner["metadata"]["name"],
        "uid": owner["metadata"]["uid"],
    }
    obj["metadata"]["ownerReferences"] = [{**ref, "blockOwnerDeletion": blocks}]
    return obj


def gone(engine: Engine, obj: dict[str, Any]) -> bool:
    return engine.wire.get(obj).status == 404


def test_a_finalizer_holds_what_is_deleted_until_it_is_taken_off(engine: Engine) -> None:
    made = engine.wire.create(held(engine, "a")).json

    going = engine.wire.delete(made)
    assert going.status == 200
    assert engine.wire.get(made).json["metadata"]["deletionTimestamp"]

    engine.wire.merge(made, {"metadata": {"finalizers": None}})
    assert gone(engine, made)


def test_a_deletion_is_asked_for_once(engine: Engine) -> None:
    made = engine.wire.create(held(engine, "a")).json
    engine.wire.delete(made)
    first = engine.wire.get(made).json["metadata"]["deletionTimestamp"]

    assert engine.wire.delete(made).status == 200
    assert engine.wire.get(made).json["metadata"]["deletionTimestamp"] == first


def test_what_is_going_takes_no_new_finalizer(engine: Engine) -> None:
    made = engine.wire.create(held(engine, "a")).json
    engine.wire.delete(made)

    told = engine.wire.merge(made, {"metadata": {"finalizers": [FINALIZER, "turno.dev/another"]}})

    assert told.status == 422
    assert list(told.causes) == ["metadata.finalizers"]


def test_a_name_is_free_again_only_when_the_object_is_gone(engine: Engine) -> None:
    made = engine.wire.create(held(engine, "a")).json
    engine.wire.delete(made)

    assert engine.wire.create(engine.config_map("a")).status == 409

    engine.wire.merge(made, {"metadata": {"finalizers": None}})
    again = engine.wire.create(engine.config_map("a"))
    assert again.status == 201
    assert again.json["metadata"]["uid"] != made["metadata"]["uid"]


@pytest.mark.parametrize("what", [{"uid": OTHER_UID}, {"resourceVersion": "1"}])
def test_a_precondition_that_does_not_hold_is_a_conflict(engine: Engine, what: dict[str, str]) -> None:
    made = engine.wire.create(engine.config_map("a")).json

    told = engine.wire.delete(made, preconditions=what)

    assert (told.status, told.json["reason"]) == (409, "Conflict")
    assert not gone(engine, made)


def test_in_the_background_dependents_go_after_their_owner(engine: Engine) -> None:
    owner = engine.wire.create(engine.config_map("owner")).json
    child = engine.wire.create(owned(engine, "child", owner)).json

    engine.wire.delete(owner, propagationPolicy="Background")

    assert gone(engine, owner)
    eventually(lambda: gone(engine, child), "the dependent is gone")


def test_in_the_foreground_an_owner_goes_after_what_it_blocks(engine: Engine) -> None:
    owner = engine.wire.create(engine.config_map("owner")).json
    child = owned(engine, "child", owner, blocks=True)
    child["metadata"]["finalizers"] = [FINALIZER]
    made = engine.wire.create(child).json

    engine.wire.delete(owner, propagationPolicy="Foreground")
    eventually(lambda: engine.wire.get(made).json["metadata"].get("deletionTimestamp"), "the dependent is going")
    assert engine.wire.get(owner).json["metadata"]["finalizers"] == ["foregroundDeletion"]

    engine.wire.merge(made, {"metadata": {"finalizers": None}})
    eventually(lambda: gone(engine, owner), "the owner is gone")


def test_an_orphan_stays_without_its_owner(engine: Engine) -> None:
    owner = engine.wire.create(engine.config_map("owner")).json
    child = engine.wire.create(owned(engine, "child", owner)).json

    engine.wire.delete(owner, propagationPolicy="Orphan")

    eventually(lambda: gone(engine, owner), "the owner is gone")
    assert not engine.wire.get(child).json["metadata"].get("ownerReferences")


def test_an_unknown_propagation_is_refused(engine: Engine) -> None:
    made = engine.wire.create(engine.config_map("a")).json

    assert engine.wire.delete(made, propagationPolicy="Sideways").status == 422
    assert not gone(engine, made)


def test_a_namespace_takes_everything_with_it_and_nothing_new_while_it_goes(engine: Engine) -> None:
    space = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": f"{engine.namespace}-b"}}
    engine.wire.create(space)
    inside = engine.config_map("a")
    inside["metadata"] = {**inside["metadata"], "namespace": f"{engine.namespace}-b", "finalizers": [FINALIZER]}
    engine.wire.create(inside)

    engine.wire.delete(space)
    eventually(lambda: engine.wire.get(inside).json["metadata"].get("deletionTimestamp"), "its content is going")

    late = {**inside, "metadata": {**inside["metadata"], "name": "late", "finalizers": []}}
    told = engine.wire.create(late)
    assert told.status == 403
    assert "being terminated" in told.json["message"]
    engine.wire.merge(inside, {"metadata": {"finalizers": None}})
    eventually(lambda: gone(engine, space), "the namespace is gone")


def test_a_collection_is_deleted_by_its_labels(engine: Engine) -> None:
    kept, doomed = engine.config_map("kept"), engine.config_map("doomed")
    doomed["metadata"]["labels"]["doomed"] = "yes"
    for obj in (kept, doomed):
        engine.wire.create(obj)

    path = f"/api/v1/namespaces/{engine.namespace}/configmaps"
    assert engine.wire.call("DELETE", path, labelSelector="doomed=yes").status == 200

    assert gone(engine, doomed)
    assert not gone(engine, kept)
