"""Whatever befalls the watch, the rows end where the cluster is."""

from __future__ import annotations

import pytest

from tests.faultproxy.proxy import Fault
from tests.faults.agreement import agreement
from tests.faults.client import SHORT, Client
from tests.faults.stage import Stage

STREAMS = "watch=1"


@pytest.mark.parametrize(
    "fault",
    [
        Fault("double", match=STREAMS),
        Fault("swap", match=STREAMS, seconds=0.2),
        Fault("truncate", match=STREAMS, bytes=900, times=40),
        Fault("status", match=STREAMS, status=410, times=25),
        Fault("status", match=STREAMS, status=500, times=25),
    ],
    ids=["events come twice", "events come in another order", "cut in an event", "too old", "broken"],
)
def test_jobs_and_notebooks_live_their_lives(stage: Stage, luis: Client, name: str, fault: Fault) -> None:
    stage.proxy.taken.clear()
    stage.proxy.add(fault)
    stage.proxy.cut()
    jobs = [luis.submit("training", f"{name}-{number}", env=SHORT) for number in range(3)]
    book = luis.submit("notebook", name)
    for job in jobs:
        job.until("succeeded")
    book.until("running")
    book.do("stop")
    book.until("stopped")
    book.do("start")
    book.until("running")
    agreement(stage)
    assert len([told for told in stage.proxy.taken if told.startswith(fault.do)]) > 5
    book.delete()


def test_what_happens_while_nobody_watches_is_learnt_afterwards(stage: Stage, luis: Client, name: str) -> None:
    stage.kill("watch")
    job = luis.submit("training", name, env=SHORT)
    gone = luis.submit("training", f"{name}-gone")
    gone.until("queued")
    assert gone.delete() == 202
    gone.until("deleted")
    stage.start("watch")
    job.until("succeeded")
