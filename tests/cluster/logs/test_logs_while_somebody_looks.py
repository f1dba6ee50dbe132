"""While somebody looks, every line comes once and in order, through cuts and restarts."""

from __future__ import annotations

import pytest

from portal.cluster import logs
from portal.cluster.kube import Timeouts
from portal.cluster.models import LogChunk
from tests.cluster.logs.desk import Scene, new_desk
from tests.faultproxy.proxy import Fault, FaultProxy

pytestmark = pytest.mark.django_db


def test_nobody_looks_nothing_is_read(scene: Scene) -> None:
    pod = scene.pod()
    scene.say(pod, "hello\n")
    for _ in range(3):
        scene.desk.turn()

    assert scene.read().text == ""
    assert not LogChunk.objects.exists()


def test_what_was_there_and_what_comes(scene: Scene) -> None:
    pod = scene.pod()
    scene.say(pod, "one\n")
    scene.look()
    scene.until(lambda: scene.read().text == "one\n")
    scene.say(pod, "two\n", second=1)
    scene.until(lambda: scene.read().text == "one\ntwo\n")


def test_a_workload_without_pods_has_an_empty_log(scene: Scene) -> None:
    scene.look()
    scene.desk.turn()

    assert scene.read() == logs.LogText("", cursor=";")


def test_numbers_through_five_cut_connections_and_two_restarts(scene: Scene) -> None:
    pod = scene.pod()
    with FaultProxy(scene.server.address) as proxy:
        scene.desk = new_desk(scene.on, proxy.address)
        scene.look()
        total = 0
        for round_ in range(7):
            batch = "".join(f"{number}\n" for number in range(total, total + 500))
            scene.say(pod, batch, second=round_ / 3)
            total += 500
            lines = [str(number) for number in range(total)]
            scene.until(lambda wanted=lines: scene.read().text.splitlines() == wanted)
            if round_ in (2, 4):
                scene.desk.close()
                scene.desk = new_desk(scene.on, proxy.address)
            else:
                proxy.cut()

    assert scene.read().gap == ""


def test_all_viewers_share_one_upstream_reading(scene: Scene) -> None:
    pod = scene.pod()
    with FaultProxy(scene.server.address) as proxy:
        scene.desk = new_desk(scene.on, proxy.address, Timeouts(connect=60, answer=60, log_silence=60))
        scene.say(pod, "one\n")
        for _ in range(3):
            scene.look()
            scene.desk.turn()
        scene.say(pod, "two\n")
        scene.until(lambda: scene.read().text == "one\ntwo\n")

    assert len(proxy.seen) == 1


def test_a_follower_gets_every_line_once_from_its_cursor(scene: Scene) -> None:
    pod = scene.pod()
    scene.look()
    scene.say(pod, "one\n")
    scene.until(lambda: scene.read().text == "one\n")
    cursor = scene.read().cursor
    got = []
    for number in range(3):
        scene.say(pod, f"line {number}\n", second=number)
        scene.until(lambda wanted=number: f"line {wanted}" in scene.read().text)
        new = logs.follow_from(scene.workload_id, run=1, cursor=cursor)
        got.append(new.text)
        cursor = new.cursor

    assert got == ["line 0\n", "line 1\n", "line 2\n"]
    assert logs.follow_from(scene.workload_id, run=1, cursor=cursor).text == ""


def test_a_follower_from_before_the_first_pod_sees_it_from_the_beginning(scene: Scene) -> None:
    cursor = scene.read().cursor
    pod = scene.pod()
    scene.say(pod, "first words\n")
    scene.look()
    scene.until(lambda: scene.read().text)

    assert logs.follow_from(scene.workload_id, run=1, cursor=cursor).text == "first words\n"


def test_several_pods_are_told_apart(scene: Scene) -> None:
    first, second = scene.pod("train-0"), scene.pod("train-1")
    scene.say(first, "a\n")
    scene.say(second, "b\n")
    scene.look()
    scene.until(lambda: "b\n" in scene.read().text and "a\n" in scene.read().text)

    assert scene.read().text == "==> train-0/main <==\na\n==> train-1/main <==\nb\n"
    cursor = scene.read().cursor
    scene.say(first, "c\n", second=1)
    scene.until(lambda: "c\n" in scene.read().text)
    assert logs.follow_from(scene.workload_id, run=1, cursor=cursor).text == "==> train-0/main <==\nc\n"


def test_a_server_that_does_not_answer_for_a_while_is_asked_again(scene: Scene) -> None:
    pod = scene.pod()
    scene.say(pod, "one\n")
    with FaultProxy(scene.server.address) as proxy:
        proxy.add(Fault("status", match="/log", times=2, status=500))
        scene.desk = new_desk(scene.on, proxy.address)
        scene.look()
        scene.until(lambda: scene.read().text == "one\n")

    assert len(proxy.taken) == 2


def test_interest_ends_and_reading_with_it(scene: Scene, frozen: object) -> None:
    pod = scene.pod()
    scene.look()
    scene.say(pod, "one\n")
    scene.until(lambda: scene.read().text == "one\n")
    frozen.move(seconds=61)  # type: ignore[attr-defined]
    scene.until(lambda: not scene.desk.reading)


def test_tail_and_since(scene: Scene) -> None:
    pod = scene.pod()
    for number in range(10):
        scene.say(pod, f"line {number}\n", second=number)
    scene.look()
    scene.until(lambda: "line 9" in scene.read().text)

    assert scene.read(tail=2).text == "line 8\nline 9\n"
    assert scene.read(tail=0).text == ""
    assert scene.read(since="2026-12-01T09:00:07.900Z").text == "line 7\nline 8\nline 9\n"
    assert scene.read(since="2026-12-01T10:00:08+01:00", tail=1).text == "line 9\n"
    assert scene.read(since="2030-01-01T00:00:00Z").text == ""
