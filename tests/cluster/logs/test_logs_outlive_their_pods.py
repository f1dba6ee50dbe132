"""The end of every container's log is kept when its pod ends or goes; what could not be kept is said."""

from __future__ import annotations

import pytest

from portal.cluster import logs
from portal.cluster.capture.lines import WINDOW
from portal.cluster.models import LogChunk, LogStream
from tests.cluster.logs.desk import PATIENT, RUNNING, Scene, new_desk
from tests.conftest import FrozenClock
from tests.faultproxy.proxy import Fault, FaultProxy

pytestmark = pytest.mark.django_db
GLYPH = "█"


def complete() -> bool:
    return LogStream.objects.exists() and not LogStream.objects.filter(complete=False).exists()


def test_an_ended_containers_log_is_kept_though_nobody_looked(scene: Scene) -> None:
    pod = scene.pod()
    scene.say(pod, "epoch 1\nepoch 2\n")
    scene.finish(pod)
    scene.until(complete)
    scene.remove(pod)

    assert scene.read().text == "epoch 1\nepoch 2\n"
    assert not scene.read().truncated


def test_a_log_that_ended_in_the_middle_of_a_line(scene: Scene) -> None:
    pod = scene.pod()
    scene.say(pod, "epoch 1\nloss 0.")
    scene.finish(pod)
    scene.until(complete)

    assert scene.read().text == "epoch 1\nloss 0."


def test_six_megabytes_of_glyphs_without_a_line_break_and_bad_bytes(scene: Scene) -> None:
    scene.desk = new_desk(scene.on, scene.server.address, PATIENT)
    pod = scene.pod()
    scene.say(pod, (GLYPH * 2_000_000).encode() + b"\xff\xfe\x00\x80" + b"\x96" + GLYPH.encode()[:2])
    scene.finish(pod)
    scene.until(complete, seconds=60)
    found = scene.read(tail=1)

    assert found.text.rstrip("\n").endswith(GLYPH + "\ufffd\ufffd␀\ufffd\ufffd\ufffd")
    assert set(found.text.rpartition("]\n")[2]) == {GLYPH, "\ufffd", "␀"}
    assert found.truncated
    assert WINDOW - 200_000 < LogStream.objects.get().size <= WINDOW


def test_the_newest_two_mebibytes_are_kept_and_the_rest_is_marked_with_its_size(scene: Scene) -> None:
    scene.desk = new_desk(scene.on, scene.server.address, PATIENT)
    pod = scene.pod()
    lines = [f"{number:07d} {'x' * 91}\n" for number in range(40_000)]
    scene.say(pod, "".join(lines))
    scene.finish(pod)
    scene.until(complete, seconds=60)
    row = LogStream.objects.get()
    found = scene.read()

    assert row.size + row.dropped_bytes == 4_000_000
    assert WINDOW - 100_000 < row.size <= WINDOW
    marker, _, kept = found.text.partition("\n")
    assert str(row.dropped_bytes) in marker
    assert found.gap in marker
    assert found.truncated
    assert kept == "".join(lines)[-row.size :]
    assert not scene.read(tail=10).truncated


def test_a_pod_that_is_being_deleted_is_read_to_its_end(scene: Scene) -> None:
    pod = scene.pod()
    scene.say(pod, "working\n")

    leaving = scene.server.call(lambda: scene.server.store.delete("Pod", "turno-data", "train-0", grace_seconds=30))
    assert leaving is not None
    scene.mirror(leaving)
    scene.until(lambda: scene.read().text == "working\n")
    scene.say(pod, "saving\n", second=1)
    scene.end(pod)
    scene.until(lambda: scene.read().text == "working\nsaving\n")
    scene.until(lambda: not scene.desk.reading)
    scene.remove(leaving)
    scene.until(complete)

    assert scene.read().gap == ""


def test_a_pod_that_vanished_unread_is_a_marked_gap(scene: Scene) -> None:
    pod = scene.pod()
    scene.desk.turn()
    scene.remove(pod)
    scene.until(complete)
    found = scene.read()

    assert found.truncated
    assert found.gap == "the pod was gone before the rest of its log could be read"
    assert found.text == f"[{found.gap}]\n"


def test_a_reader_that_was_killed_in_the_last_second_finds_the_end(scene: Scene) -> None:
    pod = scene.pod()
    scene.say(pod, "one\n")
    scene.look()
    scene.until(lambda: scene.read().text == "one\n")
    scene.desk.close()
    scene.say(pod, "two\n", second=0.5)
    scene.finish(pod)
    scene.desk = new_desk(scene.on, scene.server.address)
    scene.until(complete)

    assert scene.read().text == "one\ntwo\n"


def test_an_evicted_pod_says_so(scene: Scene) -> None:
    pod = scene.pod()
    scene.say(pod, "one\n")
    scene.finish(pod, phase="Failed", reason="Evicted", message="The node was low on resource: memory.")
    scene.until(complete)
    found = scene.read()

    assert found.text == "one\n[the pod was evicted: The node was low on resource: memory.]\n"
    assert found.truncated


def test_a_log_that_the_server_refuses_is_said_with_its_words(scene: Scene) -> None:
    pod = scene.pod()
    with FaultProxy(scene.server.address) as proxy:
        proxy.add(Fault("status", match="/log", status=400))
        scene.desk = new_desk(scene.on, proxy.address)
        scene.finish(pod)
        scene.until(complete, seconds=30)

    assert scene.read().gap == "the rest of this log could not be read: injected"


def test_restarts_are_lives_of_their_own(scene: Scene) -> None:
    pod = scene.pod()
    scene.say(pod, "first life\n", life=0)
    scene.end(pod, life=0)
    ended = {"terminated": {"exitCode": 1}}
    scene.status(pod, {"waiting": {"reason": "CrashLoopBackOff"}}, last=ended)
    scene.until(complete)
    scene.status(pod, RUNNING, restart=1, last=ended)
    scene.say(pod, "second life\n", second=5, life=1)
    scene.look()
    scene.until(lambda: scene.read().text == "second life\n")

    assert scene.read(previous=True).text == "first life\n"


def test_the_life_before_is_read_even_when_its_end_was_missed(scene: Scene) -> None:
    pod = scene.pod()
    scene.say(pod, "first life\n", life=0)
    scene.end(pod, life=0)
    scene.status(pod, RUNNING, restart=1, last={"terminated": {"exitCode": 1}})
    scene.until(lambda: scene.read(previous=True).text == "first life\n")


def test_each_run_has_its_own_log(scene: Scene) -> None:
    for run in (1, 2):
        pod = scene.pod(f"train-r{run}", run=run)
        scene.say(pod, f"run {run}\n")
        scene.finish(pod)
    scene.until(complete)

    assert [scene.read(run=run).text for run in (1, 2, 3)] == ["run 1\n", "run 2\n", ""]


def test_one_container_of_several_can_be_chosen(scene: Scene) -> None:
    pod = scene.pod(containers=("main", "proxy"))
    scene.say(pod, "from main\n")
    scene.say(pod, "from proxy\n", container="proxy")
    scene.look()
    scene.until(lambda: LogChunk.objects.count() == 2)

    assert scene.read(container="proxy").text == "from proxy\n"
    assert scene.read(container="none").text == ""


def test_logs_are_kept_for_thirty_days(scene: Scene, frozen: FrozenClock) -> None:
    pod = scene.pod()
    scene.say(pod, "one\n")
    scene.finish(pod)
    scene.until(complete)
    scene.remove(pod)
    frozen.move(days=29)
    scene.desk.store.clean()
    assert scene.read().text == "one\n"

    frozen.move(days=2)
    scene.desk.store.clean()
    assert not LogChunk.objects.exists()


def test_a_run_is_captured_once_every_containers_end_is_kept(scene: Scene) -> None:
    assert logs.is_captured(scene.workload_id, 1)
    first, second = scene.pod("train-0"), scene.pod("train-1")
    assert not logs.is_captured(scene.workload_id, 1)
    scene.say(first, "epoch 1\n")
    scene.finish(first)
    scene.until(lambda: LogStream.objects.filter(pod="train-0", complete=True).exists())
    assert not logs.is_captured(scene.workload_id, 1)
    scene.finish(second)
    scene.until(complete)

    assert logs.is_captured(scene.workload_id, 1)
    assert logs.is_captured(scene.workload_id, 2)
