"""Idempotency-Key: one row and one answer, whatever the client repeats."""

from __future__ import annotations

import threading
import uuid
from typing import Any

import pytest
from django.db import connection

from portal.kernel import idempotency
from portal.kernel.actors import Person
from portal.kernel.errors import BadRequest
from portal.kernel.idempotency import Answer, Mismatch
from portal.kernel.models import IdempotencyRecord

ANA = Person(uuid.uuid4(), "ana")
BEN = Person(uuid.uuid4(), "ben")


def post(actor: Person, key: str | None, made: list[int], *, body: str = "x", scope: str = "tenant:a") -> Answer:
    def command() -> Answer:
        made.append(1)
        return Answer(201, {"number": len(made), "token": "secret"})

    def hide(answer: Any) -> dict[str, Any]:
        return {**answer, "token": None}

    print_of = idempotency.fingerprint("POST", "/x/", {"body": body})
    return idempotency.perform(
        actor, scope=scope, key=key, fingerprint=print_of, prepare=lambda: command, without_secrets=hide
    )


@pytest.mark.django_db
def test_the_second_request_gets_the_first_answer_without_its_secret() -> None:
    made: list[int] = []
    first, second = post(ANA, "k", made), post(ANA, "k", made)
    assert made == [1]
    assert (first.status, first.body["number"], first.replayed) == (201, 1, False)
    assert (second.status, second.body, second.replayed) == (201, {"number": 1, "token": None}, True)


@pytest.mark.django_db
def test_keys_belong_to_who_sent_them_and_where() -> None:
    made: list[int] = []
    post(ANA, "k", made)
    post(BEN, "k", made)
    post(ANA, "k", made, scope="tenant:b")
    post(ANA, None, made)
    assert len(made) == 4


@pytest.mark.django_db
def test_another_body_under_the_same_key_is_a_mismatch() -> None:
    made: list[int] = []
    post(ANA, "k", made)
    with pytest.raises(Mismatch) as refused:
        post(ANA, "k", made, body="y")
    assert refused.value.code == "idempotency_mismatch"
    assert made == [1]


@pytest.mark.django_db
def test_a_refused_request_keeps_nothing() -> None:
    with pytest.raises(BadRequest):
        idempotency.perform(ANA, scope="s", key="k", fingerprint="f", prepare=lambda: _refuse)
    assert not IdempotencyRecord.objects.exists()


def _refuse() -> Answer:
    raise BadRequest("no")


@pytest.mark.django_db
def test_a_key_is_free_again_after_a_day(frozen) -> None:
    made: list[int] = []
    post(ANA, "k", made)
    frozen.move(hours=25)
    assert not post(ANA, "k", made, body="y").replayed
    assert len(made) == 2


@pytest.mark.parametrize("key", ["", "a b", "ñ", "x" * 256, "a\n"])
def test_a_key_is_1_to_255_visible_characters(key) -> None:
    with pytest.raises(BadRequest):
        idempotency.check_key(key)


@pytest.mark.django_db(transaction=True)
def test_fifty_at_once_make_one_row() -> None:
    made: list[int] = []
    answers: list[Answer] = []
    barrier = threading.Barrier(50)

    def one() -> None:
        barrier.wait()
        try:
            answers.append(post(ANA, "k", made))
        finally:
            connection.close()

    threads = [threading.Thread(target=one) for _ in range(50)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(answers) == 50
    assert {a.body["number"] for a in answers} == {1}
    assert [a.replayed for a in answers].count(False) == 1
    assert IdempotencyRecord.objects.count() == 1
