"""What containers wrote, read whole, from the end, from a time, of the life before, and as it comes; and events."""

from __future__ import annotations

import threading
import uuid

from portal.cluster.port import ObjectRef
from tests.contract.conftest import Engine

NOW, BEFORE = ["one", "two", "three"], ["before"]


def read(engine: Engine, pod: str, **query: str) -> list[str]:
    answer = engine.wire.call("GET", f"/api/v1/namespaces/{engine.namespace}/pods/{pod}/log", **query)
    assert answer.status == 200, answer.text
    return answer.text.splitlines()


def test_a_log_is_read_whole_and_from_its_end(engine: Engine) -> None:
    engine.speaking_pod("a", now=NOW, before=BEFORE)

    assert read(engine, "a", container="main") == NOW
    assert read(engine, "a", container="main", tailLines="2") == NOW[1:]
    assert read(engine, "a", tailLines="0") == []


def test_the_life_before_has_a_log_of_its_own(engine: Engine) -> None:
    engine.speaking_pod("a", now=NOW, before=BEFORE)

    assert read(engine, "a", container="main", previous="true") == BEFORE


def test_a_log_is_read_from_a_time_on(engine: Engine) -> None:
    engine.speaking_pod("a", now=NOW, before=BEFORE)

    assert read(engine, "a", sinceTime="2026-01-01T01:01:00Z") == NOW[1:]
    [line] = read(engine, "a", sinceTime="2026-01-01T01:02:00Z", timestamps="true")
    assert line.startswith("2026-01-01T01:02:00")
    assert line.endswith("Z three")


def test_a_log_is_followed_as_it_is_written(engine: Engine) -> None:
    pod = engine.speaking_pod("a", now=NOW, before=BEFORE)
    stream = engine.gateway().logs(engine.namespace, "a", container="main", follow=True)
    seen = b""
    late = threading.Timer(0.5, lambda: engine.say_more(pod, "four"))
    late.start()

    for piece in stream:
        seen += piece
        if seen.endswith(b" four\n"):
            break
    late.join()

    assert [line.split(" ", 1)[1] for line in seen.decode().splitlines()] == [*NOW, "four"]


def test_a_log_of_a_container_that_there_is_not_is_refused(engine: Engine) -> None:
    engine.speaking_pod("a", now=NOW, before=BEFORE)
    path = f"/api/v1/namespaces/{engine.namespace}/pods/a/log"

    assert engine.wire.call("GET", path, container="other").status == 400


def test_a_pod_without_a_node_has_no_log_yet(engine: Engine) -> None:
    engine.wire.create(engine.pod("a"))

    path = f"/api/v1/namespaces/{engine.namespace}/pods/a/log"

    answer = engine.wire.call("GET", path)

    assert (answer.status, answer.text) == (204, "")
    assert list(engine.gateway().logs(engine.namespace, "a", container="main")) == []


def test_events_are_found_by_what_they_are_about(engine: Engine) -> None:
    uid = str(uuid.uuid4())
    for name, about in (("a.1", uid), ("b.1", str(uuid.uuid4()))):
        event = {
            "apiVersion": "v1",
            "kind": "Event",
            "metadata": {"name": name, "namespace": engine.namespace},
            "involvedObject": {"kind": "Pod", "namespace": engine.namespace, "name": name[0], "uid": about},
            "reason": "Started",
            "message": "Container started",
            "type": "Normal",
        }
        assert engine.wire.create(event).status == 201

    path = f"/api/v1/namespaces/{engine.namespace}/events"
    found = engine.wire.call("GET", path, fieldSelector=f"involvedObject.uid={uid}").json["items"]

    assert [one["metadata"]["name"] for one in found] == ["a.1"]
    assert engine.gateway().get(ObjectRef("Event", "b.1", engine.namespace)) is not None
