"""Reading many: pages of one moment, tokens and versions that expire, watches that go on where they were."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tests.contract.conftest import Engine


def path(engine: Engine) -> str:
    return f"/api/v1/namespaces/{engine.namespace}/configmaps"


def fill(engine: Engine, count: int) -> list[str]:
    names = [f"item-{number}" for number in range(count)]
    for name in names:
        engine.wire.create(engine.config_map(name))
    return names


def told(events: list[dict[str, Any]]) -> list[tuple[str, str]]:
    return [(event["type"], event["object"]["metadata"].get("name", "")) for event in events]


MINE = "turno.dev/instance=contract"


def test_the_pages_of_a_list_show_one_moment(engine: Engine) -> None:
    names = fill(engine, 4)
    first = engine.wire.call("GET", path(engine), limit="2", labelSelector=MINE).json
    engine.wire.create(engine.config_map("item-2b"))
    engine.wire.delete(engine.config_map("item-3"))

    token = first["metadata"]["continue"]
    second = engine.wire.call("GET", path(engine), limit="5", labelSelector=MINE, **{"continue": token}).json

    assert [one["metadata"]["name"] for one in first["items"] + second["items"]] == names
    assert second["metadata"]["resourceVersion"] == first["metadata"]["resourceVersion"]
    assert not second["metadata"].get("continue")


def events(engine: Engine, count: int) -> str:
    """So many events, and where they are: the one kind that no server keeps a history of in its memory."""
    for number in range(count):
        event = {
            "apiVersion": "v1",
            "kind": "Event",
            "metadata": {"name": f"e.{number}", "namespace": engine.namespace},
            "involvedObject": {"kind": "Pod", "namespace": engine.namespace, "name": "a"},
            "reason": "Started",
            "message": "",
            "type": "Normal",
        }
        assert engine.wire.create(event).status == 201
    return f"/api/v1/namespaces/{engine.namespace}/events"


def test_a_token_from_before_the_compaction_has_expired(engine: Engine, forget_history: Callable[[], None]) -> None:
    where = events(engine, 3)
    token = engine.wire.call("GET", where, limit="1").json["metadata"]["continue"]
    engine.wire.create(engine.config_map("later"))
    forget_history()

    refusal = engine.wire.call("GET", where, limit="1", **{"continue": token}).json

    assert (refusal["code"], refusal["reason"]) == (410, "Expired")
    assert "continue parameter is too old" in refusal["message"]


def test_a_selector_chooses_by_label_and_by_field(engine: Engine) -> None:
    fill(engine, 2)
    marked = engine.config_map("marked")
    marked["metadata"]["labels"]["mark"] = "yes"
    engine.wire.create(marked)

    def names(**query: str) -> list[str]:
        found = engine.wire.call("GET", path(engine), **query).json["items"]
        return [one["metadata"]["name"] for one in found if one["metadata"].get("labels")]

    assert names(labelSelector="mark") == ["marked"]
    assert names(labelSelector=f"{MINE},!mark") == ["item-0", "item-1"]
    assert names(labelSelector="mark in (yes, no)") == ["marked"]
    assert names(fieldSelector="metadata.name=item-1") == ["item-1"]


def test_a_selector_that_is_none_is_refused(engine: Engine) -> None:
    assert engine.wire.call("GET", path(engine), labelSelector="a=b=c").status == 400
    assert engine.wire.call("GET", path(engine), fieldSelector="data.x=1").status == 400


def test_a_watch_begins_with_what_there_is_and_marks_its_end(engine: Engine) -> None:
    fill(engine, 2)

    events = engine.wire.events(
        path(engine),
        labelSelector=MINE,
        sendInitialEvents="true",
        resourceVersionMatch="NotOlderThan",
        allowWatchBookmarks="true",
    )

    assert sorted(told(events[:-1])) == [("ADDED", "item-0"), ("ADDED", "item-1")]
    assert events[-1]["type"] == "BOOKMARK"
    assert events[-1]["object"]["metadata"]["annotations"]["k8s.io/initial-events-end"] == "true"


def test_a_watch_that_was_cut_goes_on_where_it_was(engine: Engine) -> None:
    since = engine.wire.call("GET", path(engine)).json["metadata"]["resourceVersion"]
    fill(engine, 3)

    before = engine.wire.events(path(engine), seconds=2, resourceVersion=since, labelSelector=MINE)[:1]
    version = before[0]["object"]["metadata"]["resourceVersion"]
    after = engine.wire.events(path(engine), seconds=2, resourceVersion=version, labelSelector=MINE)

    assert told(before + after) == [("ADDED", "item-0"), ("ADDED", "item-1"), ("ADDED", "item-2")]


def test_a_watch_from_a_forgotten_version_is_told_so(engine: Engine, forget_history: Callable[[], None]) -> None:
    where = events(engine, 1)
    forget_history()

    [error] = engine.wire.events(where, seconds=5, resourceVersion="1")

    assert error["type"] == "ERROR"
    assert (error["object"]["code"], error["object"]["reason"]) == (410, "Expired")
    assert "too old" in error["object"]["message"]


def test_a_list_at_a_version_of_the_future_is_told_to_come_again(engine: Engine) -> None:
    answer = engine.wire.call("GET", path(engine), resourceVersion="999999999", resourceVersionMatch="NotOlderThan")

    assert answer.status == 504
    assert answer.json["details"]["causes"][0]["reason"] == "ResourceVersionTooLarge"


def test_a_change_that_brings_an_object_under_a_selector_adds_it(engine: Engine) -> None:
    made = engine.wire.create(engine.config_map("a"))
    engine.wire.merge(made.json, {"metadata": {"labels": {"mark": "yes"}}})
    engine.wire.merge(made.json, {"data": {"x": "1"}})
    engine.wire.merge(made.json, {"metadata": {"labels": {"mark": None}}})

    events = engine.wire.events(path(engine), seconds=2, labelSelector="mark", resourceVersion=str(made.version))

    assert told(events) == [("ADDED", "a"), ("MODIFIED", "a"), ("DELETED", "a")]


def test_only_metadata_of_a_list(engine: Engine) -> None:
    engine.wire.create(engine.config_map("a", x="1"))

    found = engine.wire.call("GET", path(engine), labelSelector=MINE).json

    assert found["kind"] == "ConfigMapList"
    assert "kind" not in found["items"][0]
