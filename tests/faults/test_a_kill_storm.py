"""A minute of random kill -9 while requests with keys go on: what was accepted is not lost, doubled or left over."""

from __future__ import annotations

import random
import threading
import time
import uuid
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

import pytest

from jobs.models import Run, RunObject, Workload
from portal.kernel.models import FeedEntry
from tests.faults.agreement import everything, label
from tests.faults.client import SHORT, Answer, Client, Submitted
from tests.faults.stage import PORTAL, Stage
from tests.tooling.processes import wait_until

SECONDS = 60
# Somebody who sends without answers waits as a client library does; 503 asks for that in its header.
PATIENCE = 0.3
ENOUGH = 40
LAST_LINE = "Training finished"


@dataclass
class Caller(threading.Thread):
    """Submits, stops and deletes; repeats each call with its key until it is answered. `wrong`: answers that no
    retry may get."""

    client: Client
    prefix: str
    over: threading.Event
    accepted: list[Submitted] = field(default_factory=list)
    stopped: list[Submitted] = field(default_factory=list)
    deleted: list[Submitted] = field(default_factory=list)
    wrong: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        super().__init__(daemon=True)

    def __hash__(self) -> int:
        return id(self)

    def run(self) -> None:
        for number in range(ENOUGH):
            if self.over.is_set():
                return
            kind = "notebook" if number % 8 == 5 else "training"
            changes = {"env": SHORT} if number % 4 else {}
            self._live(kind, f"{self.prefix}-{number}", changes if kind == "training" else {})
            self.over.wait(SECONDS / ENOUGH)

    def _live(self, kind: str, name: str, changes: dict[str, dict[str, str]]) -> None:
        key = uuid.uuid4().hex
        answer = self._until(201, lambda: self.client.post(kind, name, key=key, **changes))
        if answer is None:
            return
        made = Submitted(self.client, kind, answer.json["id"], name)
        self.accepted.append(made)
        if kind == "notebook":
            self._until(202, lambda: self.client.call("DELETE", f"{made.path}?delete_data=true"))
            self.deleted.append(made)
        elif not changes:
            self._until(202, lambda: self.client.call("POST", f"{made.path}stop/"))
            self.stopped.append(made)

    def _until(self, right: int, call: Callable[[], Answer]) -> Answer | None:
        """The answer; None where it is wrong. 200 and 404: the try before has done it, and its answer was lost."""
        while True:
            answer = call()
            if answer.status in (right, 200, 404):
                return answer
            if answer.status not in (0, 503):
                self.wrong.append(f"{answer.status} {answer.text[:300]}")
                return None
            time.sleep(PATIENCE)


def storm(stage: Stage, seconds: float) -> list[str]:
    """Kills one process after the other, in no order, and starts each again at once. Returns which."""
    chance = random.Random()
    killed = []
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        victim = chance.choice(PORTAL)
        stage.kill(victim)
        killed.append(victim)
        if chance.random() < 0.1:
            stage.flush_broker()
        time.sleep(chance.uniform(0.0, 0.5))
        stage.start(victim)
        time.sleep(chance.uniform(0.3, 2.5))
    return killed


@pytest.mark.timeout(480)
def test_a_minute_of_kills_loses_and_doubles_nothing(stage: Stage, name: str) -> None:
    over = threading.Event()
    callers = [Caller(stage.client(who), f"{name}-{who}", over) for who in ("luis", "diego", "pablo")]
    for caller in callers:
        caller.start()
    killed = storm(stage, SECONDS)
    over.set()
    stage.whole()
    for caller in callers:
        caller.join(60)
        assert not caller.is_alive()
        assert caller.wrong == []
    assert set(killed) == set(PORTAL)

    accepted = [one for caller in callers for one in caller.accepted]
    assert len(accepted) > 10
    rows = {
        str(pk): made for pk, made in Workload.objects.filter(name__startswith=f"{name}-").values_list("pk", "name")
    }
    assert rows == {one.id: one.name for one in accepted}
    finish(callers)
    once(stage, {one.id for one in accepted})
    for caller in callers:
        logs_are_whole(caller)


def logs_are_whole(caller: Caller) -> None:
    """The log reader was killed too: every job that came to its end has its last line all the same."""
    others = {one.id for one in (*caller.stopped, *caller.deleted)}
    for one in caller.accepted:
        if one.id not in others:
            path = f"{one.path}logs/?tail=1"
            wait_until(lambda p=path: LAST_LINE in caller.client.call("GET", p).text, f"the log of {one.name}")


def finish(callers: list[Caller]) -> None:
    """Everything comes to the end that was asked for."""
    with ThreadPoolExecutor(8) as threads:
        for caller in callers:
            ended = {one.id for one in (*caller.stopped, *caller.deleted)}
            asked = [(one, ("succeeded",)) for one in caller.accepted if one.id not in ended]
            asked += [(one, ("stopped", "succeeded")) for one in caller.stopped]
            asked += [(one, ("deleted",)) for one in caller.deleted]
            for waited in [threads.submit(one.until, *states, within=120) for one, states in asked]:
                waited.result()


def once(stage: Stage, ids: set[str]) -> None:
    """One run, one object on the cluster, one line of history for each end."""
    assert set(Run.objects.filter(workload_id__in=ids).values_list("number", flat=True)) == {1}
    made = RunObject.objects.filter(workload_id__in=ids, owned_by_workload=False)
    assert made.values("workload_id").distinct().count() == made.count()
    jobs = [one for one in of_workloads(stage, "Job") if one in ids]
    assert len(jobs) == len(set(jobs))
    for end in ("succeeded", "stopped", "deleted"):
        told = FeedEntry.objects.filter(object_id__in=ids, source="turno", type=end).values_list("object_id", flat=True)
        assert len(told) == len(set(told)), end
    wait_until(lambda: not ids.intersection(of_workloads(stage, "StatefulSet")), "no set is left")


def of_workloads(stage: Stage, kind: str) -> list[str]:
    return [label(one, "turno.dev/workload") for one in everything(stage.gateway, kind)]
