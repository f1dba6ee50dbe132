"""Clicks, retries and races over real connections: one of everything, and one winner."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from jobs.models import Run, Workload
from tests.faults.agreement import label
from tests.faults.client import SHORT, Client, Submitted
from tests.faults.stage import Stage


def test_one_key_from_fifty_threads_is_one_workload_and_one_job(stage: Stage, luis: Client, name: str) -> None:
    with ThreadPoolExecutor(50) as threads:
        answers = list(threads.map(lambda _: luis.post("training", name, key=name, env=SHORT), range(50)))
    assert {answer.status for answer in answers} == {201}
    assert len({answer.body for answer in answers}) == 1
    assert sum(answer.headers.get("Idempotency-Replayed") == "true" for answer in answers) == 49
    assert luis.post("training", f"{name}-other", key=name).status == 422
    job = Submitted(luis, "training", answers[0].json["id"], name)
    job.until("running", "succeeded")
    jobs = stage.gateway.list("Job", selector=f"turno.dev/workload={job.id}").items
    assert [label(one, "turno.dev/run") for one in jobs] == ["1"]
    job.until("succeeded")
    assert Workload.objects.filter(name__startswith=name).count() == 1


def test_twenty_at_once_where_three_may_live(stage: Stage, name: str) -> None:
    sofia, pablo = stage.client("sofia"), stage.client("pablo")
    policy = "/tenants/training/policy/"
    assert sofia.call("PATCH", policy, {"max_live": 3}).status == 200
    try:
        with ThreadPoolExecutor(20) as threads:
            answers = list(threads.map(lambda n: pablo.post("training", f"{name}-{n}"), range(20)))
        assert sorted(answer.status for answer in answers) == [201] * 3 + [409] * 17
        assert {answer.json["code"] for answer in answers if answer.status == 409} == {"max_live"}
    finally:
        assert sofia.call("PATCH", policy, {"max_live": None}).status == 200
    for answer in answers:
        if answer.status == 201:
            Submitted(pablo, "training", answer.json["id"], "").delete()


def test_a_delete_at_every_moment_of_a_start_leaves_nothing(stage: Stage, luis: Client, name: str) -> None:
    books = []
    for number in range(8):
        book = luis.submit("notebook", f"{name}-{number}")
        time.sleep(0.04 * number)
        assert book.delete() == 202
        books.append(book)
    for book in books:
        book.until("deleted")
    for kind in ("StatefulSet", "Pod", "Service", "Secret", "HTTPRoute", "PersistentVolumeClaim"):
        left = [one["metadata"]["name"] for one in stage.gateway.list(kind, namespace="turno-data").items]
        assert not [one for one in left if one.startswith(f"{name}-")], kind


def test_start_while_it_stops_happens_when_the_old_pod_is_gone(stage: Stage, luis: Client, name: str) -> None:
    """Twenty times, after 0, 50 and 500 ms, with pods that take their time to die."""
    stage.control("POST", "/rules", {"name": f"{name}-", "does": {"grace_seconds": 8}})
    books = [luis.submit("notebook", f"{name}-{number}") for number in range(20)]
    for book in books:
        book.until("running")
    claims = {one.id: claim(stage, one) for one in books}

    def press(number: int) -> tuple[int, int]:
        stopped = books[number].do("stop")
        time.sleep((0.0, 0.05, 0.5)[number % 3])
        return stopped, books[number].do("start")

    with ThreadPoolExecutor(5) as threads:
        assert set(threads.map(press, range(20))) == {(202, 202)}
    for book in books:
        Workload.objects.get(pk=book.id)
        assert book.until("running")["run"] == 2
        assert claim(stage, book) == claims[book.id]
        assert [one["metadata"]["name"] for one in objects(stage, "Pod", book)] == [set_name(stage, book) + "-0"]
    stage.control("PUT", "/rules", {"rules": []})
    for book in books:
        book.delete()


def test_stop_start_stop_start_in_one_second(stage: Stage, luis: Client, name: str) -> None:
    books = [luis.submit("notebook", f"{name}-{number}") for number in range(3)]
    for book in books:
        book.until("running")
    for book in books:
        assert [book.do(verb) for verb in ("stop", "start", "stop", "start")] == [202] * 4
    for book in books:
        assert book.until("running")["run"] >= 2
        assert len(objects(stage, "StatefulSet", book)) == len(objects(stage, "Pod", book)) == 1
        assert Run.objects.filter(workload_id=book.id, ended_at=None).count() == 1
        book.delete()


@pytest.mark.parametrize("verbs", [("stop", "delete"), ("delete", "stop"), ("start", "delete")], ids="-".join)
def test_two_buttons_at_the_same_moment_have_one_winner(
    stage: Stage, luis: Client, name: str, verbs: tuple[str, str]
) -> None:
    job = luis.submit("training", name, env=SHORT)
    job.until("running", "succeeded") if verbs[0] != "start" else job.until("succeeded")

    def press(verb: str) -> int:
        return job.delete() if verb == "delete" else job.do(verb)

    with ThreadPoolExecutor(2) as threads:
        answers = list(threads.map(press, verbs))
    assert answers[verbs.index("delete")] == 202
    assert set(answers) <= {200, 202, 404, 409}
    job.until("deleted")


def objects(stage: Stage, kind: str, book: Submitted) -> list[dict[str, object]]:
    return stage.gateway.list(kind, selector=f"turno.dev/workload={book.id}").items


def claim(stage: Stage, book: Submitted) -> str:
    (found,) = objects(stage, "PersistentVolumeClaim", book)
    return str(found["metadata"]["uid"])  # type: ignore[index]


def set_name(stage: Stage, book: Submitted) -> str:
    (found,) = objects(stage, "StatefulSet", book)
    return str(found["metadata"]["name"])  # type: ignore[index]
