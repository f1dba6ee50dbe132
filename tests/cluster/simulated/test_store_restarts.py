"""The store's file: what a restart keeps, and what a killed process may have left."""

from __future__ import annotations

from pathlib import Path

import pytest

from portal.cluster.simulated.errors import Expired
from portal.cluster.simulated.objects import Obj
from portal.cluster.simulated.store import Change, Store


def config_map(name: str, **data: str) -> Obj:
    meta = {"name": name, "namespace": "default"}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": meta, "data": data}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "state" / "cluster.jsonl"


def test_objects_stay_and_versions_go_on(path: Path) -> None:
    store = Store(path)
    kept = store.create(config_map("kept", a="1"))
    store.create(config_map("gone"))
    store.delete("ConfigMap", "default", "gone")
    version = store.rv
    store.close()

    again = Store(path)

    assert again.list("ConfigMap") == [kept]
    assert again.rv == version
    assert int(again.create(config_map("new"))["metadata"]["resourceVersion"]) == version + 1


def test_history_starts_anew(path: Path) -> None:
    store = Store(path)
    store.create(config_map("a"))
    store.create(config_map("b"))
    store.close()

    again = Store(path)

    with pytest.raises(Expired):
        again.events_since("ConfigMap", 1)
    assert again.events_since("ConfigMap", again.rv) == []


def test_torn_last_line_is_dropped(path: Path) -> None:
    store = Store(path)
    kept = store.create(config_map("kept"))
    store.create(config_map("torn"))
    store.close()
    path.write_bytes(path.read_bytes()[:-20])

    assert Store(path).list("ConfigMap") == [kept]


def test_broken_file_is_refused_by_line(path: Path) -> None:
    path.parent.mkdir()
    path.write_text('{"rv": 1}\nnot a record\n{"rv": 2}\n')

    with pytest.raises(ValueError, match="line 2 is not a record"):
        Store(path)


def test_start_writes_the_file_anew_without_the_past(path: Path) -> None:
    store = Store(path)
    store.create(config_map("c", n="0"))
    for number in range(100):
        store.mutate("ConfigMap", "default", "c", lambda obj, n=number: obj["data"].update(n=str(n)))
    store.close()
    long = path.stat().st_size

    Store(path).close()

    assert path.stat().st_size < long / 50


def test_owners_are_known_after_a_restart(path: Path) -> None:
    store = Store(path)
    owner = store.create(config_map("owner"))
    child = config_map("child")
    reference = {"apiVersion": "v1", "kind": "ConfigMap", "name": "owner", "uid": owner["metadata"]["uid"]}
    child["metadata"]["ownerReferences"] = [reference]
    store.create(child)
    store.close()

    again = Store(path)
    again.delete("ConfigMap", "default", "owner")

    assert again.list("ConfigMap") == []


def test_what_is_handed_out_is_a_copy() -> None:
    store = Store()
    store.create(config_map("c", a="1"))
    taken = store.get("ConfigMap", "default", "c")
    assert taken is not None

    taken["data"]["a"] = "2"

    assert store.list("ConfigMap")[0]["data"] == {"a": "1"}
    assert store.update(taken)["data"] == {"a": "2"}


def test_write_that_changes_nothing_tells_nobody() -> None:
    store = Store()
    made = store.create(config_map("c", a="1"))
    heard: list[Change] = []
    stop = store.subscribe(heard.append)

    assert store.update(made) == made
    assert heard == []

    made["data"] = {"a": "2"}
    store.update(made)
    assert [(change.type, change.previous and change.previous["data"]) for change in heard] == [
        ("MODIFIED", {"a": "1"})
    ]

    stop()
    store.delete("ConfigMap", "default", "c")
    assert len(heard) == 1


def test_history_is_bounded() -> None:
    store = Store(history=10)
    store.create(config_map("c"))
    for number in range(20):
        store.mutate("ConfigMap", "default", "c", lambda obj, n=number: obj.update(data={"n": str(n)}))

    with pytest.raises(Expired):
        store.events_since("ConfigMap", 1)
    assert [change.rv for change in store.events_since("ConfigMap", store.rv - 10)] == list(range(12, 22))
