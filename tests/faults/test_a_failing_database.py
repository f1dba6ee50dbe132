"""PostgreSQL is restarted the hard way while requests go on: 503 for a moment, and all come back by themselves."""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass, field

import pytest
from django.db import connection

from jobs.models import Run, Workload
from tests.faults.client import SHORT, Answer, Client, http
from tests.faults.servers import PostgreSQL
from tests.faults.stage import PORTAL, Stage
from tests.tooling.processes import wait_until

pytestmark = pytest.mark.services
TIMES = 3


@dataclass
class Caller(threading.Thread):
    """Submits with keys, and looks, without a pause."""

    client: Client
    prefix: str
    over: threading.Event
    answers: list[Answer] = field(default_factory=list)
    accepted: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        super().__init__(daemon=True)

    def __hash__(self) -> int:
        return id(self)

    def run(self) -> None:
        number = 0
        while not self.over.is_set():
            self.answers.append(self.client.call("GET", "/workloads/"))
            self.answers.append(http("GET", f"{self.client.url}/login/"))
            self._submit(f"{self.prefix}-{number}")
            number += 1
            self.over.wait(0.3)

    def _submit(self, name: str) -> None:
        while True:
            answer = self.client.post("training", name, key=name, env=SHORT)
            self.answers.append(answer)
            if answer.status == 201:
                self.accepted.append(answer.json["id"])
            if answer.status != 503:
                return
            time.sleep(0.3)


@pytest.mark.timeout(400)
def test_a_hard_restart_is_only_503_for_a_moment(stage: Stage, name: str) -> None:
    server = PostgreSQL(stage.settings["TURNO_DATABASE_URL"])
    over = threading.Event()
    callers = [Caller(stage.client(who), f"{name}-{who}", over) for who in ("luis", "diego")]
    ids = {kind: stage.running[kind].process.pid for kind in PORTAL}
    for caller in callers:
        caller.start()
    for _ in range(TIMES):
        time.sleep(2)
        server.kill()
        time.sleep(1)
        server.start()
        wait_until(lambda: http("GET", f"{stage.url}/readyz").status == 200, "web is ready again", 30)
        wait_until(lambda: stage.client("luis").call("GET", "/workloads/").status == 200, "lists again", 30)
    over.set()
    connection.close()
    for caller in callers:
        caller.join(60)

    answers = [answer for caller in callers for answer in caller.answers]
    assert {answer.status for answer in answers} == {200, 201, 503}
    assert all(answer.headers["Retry-After"] for answer in answers if answer.status == 503)
    assert {kind: stage.running[kind].process.pid for kind in PORTAL} == ids
    assert all(stage.running[kind].process.poll() is None for kind in PORTAL)
    accepted = {one for caller in callers for one in caller.accepted}
    rows = Workload.objects.filter(name__startswith=f"{name}-").values_list("pk", flat=True)
    assert {str(pk) for pk in rows} == accepted
    ended = Run.objects.filter(workload_id__in=accepted, outcome="succeeded")
    wait_until(lambda: ended.count() == len(accepted), f"{len(accepted)} succeed", 120)
    assert Run.objects.filter(workload_id__in=accepted).count() == len(accepted)
