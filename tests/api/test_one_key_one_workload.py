"""Idempotency-Key over REST."""

from __future__ import annotations

import threading

import pytest
from django.db import connection

from jobs.models import Run, Workload


@pytest.mark.django_db
def test_a_retry_gets_the_same_status_and_body_and_says_so(rest, owner, room, job) -> None:
    api = rest(owner)
    first = api.post("/training-jobs/", job, **{"Idempotency-Key": "build-1"})
    second = api.post("/training-jobs/", job, **{"Idempotency-Key": "build-1"})
    assert (first.status_code, second.status_code) == (201, 201)
    assert first.json() == second.json()
    assert "Idempotency-Replayed" not in first.headers
    assert second.headers["Idempotency-Replayed"] == "true"
    assert Workload.objects.count() == 1


@pytest.mark.django_db
def test_another_body_under_the_key_is_422(rest, owner, room, job) -> None:
    api = rest(owner)
    api.post("/training-jobs/", job, **{"Idempotency-Key": "build-1"})
    answer = api.post("/training-jobs/", {**job, "name": "other"}, **{"Idempotency-Key": "build-1"})
    assert (answer.status_code, answer.json()["code"]) == (422, "idempotency_mismatch")


@pytest.mark.django_db
def test_a_refused_request_leaves_the_key_free(rest, owner, room, job) -> None:
    api = rest(owner)
    assert api.post("/training-jobs/", {**job, "gpus": 0.5}, **{"Idempotency-Key": "k"}).status_code == 422
    assert api.post("/training-jobs/", job, **{"Idempotency-Key": "k"}).status_code == 201


@pytest.mark.django_db
@pytest.mark.parametrize("key", ["", "with space", "x" * 256, "ñ"])
def test_a_bad_key_is_400(rest, owner, room, job, key) -> None:
    answer = rest(owner).post("/training-jobs/", job, **{"Idempotency-Key": key})
    assert answer.status_code == 400
    assert not Workload.objects.exists()


@pytest.mark.django_db
def test_a_replayed_token_is_not_shown_again(rest, owner, frozen) -> None:
    body = {"name": "laptop", "scopes": ["read"], "expires_at": "2027-01-01T00:00:00Z"}
    api = rest(owner)
    first = api.post("/tokens/", body, **{"Idempotency-Key": "t"})
    second = api.post("/tokens/", body, **{"Idempotency-Key": "t"})
    assert first.json()["token"].startswith("turno_")
    assert second.json() == {**first.json(), "token": None}


@pytest.mark.django_db(transaction=True)
def test_fifty_at_the_same_moment_make_one_workload(rest, owner, room, job) -> None:
    api = rest(owner)
    barrier, answers = threading.Barrier(50), []

    def one() -> None:
        barrier.wait()
        try:
            answers.append(api.post("/training-jobs/", job, **{"Idempotency-Key": "same"}))
        finally:
            connection.close()

    threads = [threading.Thread(target=one) for _ in range(50)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert {answer.status_code for answer in answers} == {201}
    assert len({answer.content for answer in answers}) == 1
    assert [("Idempotency-Replayed" in answer.headers) for answer in answers].count(False) == 1
    assert (Workload.objects.count(), Run.objects.count()) == (1, 1)
