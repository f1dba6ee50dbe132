"""A worker's database connection outlives its task, and is looked at before the next one."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from portal import celery


class Connection:
    """One that a pool gave."""

    def __init__(self) -> None:
        self.said: list[str] = []
        self.pool = SimpleNamespace(check=lambda: self.said.append("check"))

    def close_if_unusable_or_obsolete(self) -> None:
        self.said.append("give back")

    def close(self) -> None:
        self.said.append("close")

    def close_pool(self) -> None:
        self.said.append("close pool")


@pytest.fixture
def connection(monkeypatch: pytest.MonkeyPatch) -> Connection:
    found = Connection()
    monkeypatch.setattr(celery, "connections", SimpleNamespace(all=lambda *, initialized_only: [found]))
    return found


def task(*, is_eager: bool) -> SimpleNamespace:
    return SimpleNamespace(request=SimpleNamespace(is_eager=is_eager))


def test_before_a_task_the_pool_is_asked_whether_its_connection_lives(connection: Connection) -> None:
    celery.look_at_the_connection(task(is_eager=False))
    assert connection.said == ["give back", "check"]


def test_a_task_that_runs_in_its_caller_leaves_the_callers_connection_alone(connection: Connection) -> None:
    celery.look_at_the_connection(task(is_eager=True))
    assert connection.said == []


def test_children_of_a_worker_share_no_connection(connection: Connection) -> None:
    celery.share_no_connection()
    assert connection.said == ["close", "close pool"]


def test_celery_itself_closes_a_connection_only_after_many_tasks() -> None:
    assert celery.app.conf.get("CELERY_DB_REUSE_MAX") > 1000
