"""A job whose log is one endless line of glyphs and broken bytes: it succeeds, and its log is whole in every place."""

from __future__ import annotations

import base64
from collections.abc import Callable

import pytest
from asgiref.sync import async_to_sync
from django.test import AsyncClient, Client

from jobs.models import Workload
from portal.cluster.capture.reader import Desk
from portal.cluster.models import LogStream
from portal.kernel import clock
from portal.kernel.actors import Person
from tenants.models import User
from tests.cluster.logs.desk import new_desk
from tests.factories import tenants as people
from tests.jobs.stage import Stage

pytestmark = pytest.mark.django_db
GLYPH = "▉".encode()
BROKEN = b"\xff\xfe\x00\x80" + b"\n" + b"\x80 alone\n" + GLYPH * 3 + GLYPH[:2]
PIECE = 1_000_001  # no multiple of three: each border is inside of a glyph
# The simulated training's own last words follow.
LAST = "▉▉▉\ufffdTraining finished; model saved to output/final.safetensors\n"
SHOWN = f"\ufffd\ufffd\u2400\ufffd\n\ufffd alone\n{LAST}"


@pytest.fixture
def said(stage: Stage, owner: Person) -> Workload:
    """It has written 6 MB of glyphs without a line break, then bad bytes, and ended with 0; all is captured."""
    row = stage.submit(owner, env={"TURNO_SIM_SECONDS": "3000"})
    stage.run(8)
    desk = new_desk(stage.cluster, stage.engine.address)
    try:
        data = GLYPH * 2_000_000 + BROKEN
        pod = stage.names("Pod")[0]
        for start in range(0, len(data), PIECE):
            piece = base64.b64encode(data[start : start + PIECE]).decode()
            stage.control("POST", f"/pods/turno-data/{pod}/log", {"base64": piece})
        stage.control("POST", f"/pods/turno-data/{pod}/end", {"exit": "0"})
        stage.run(5)
        turn(desk, lambda: LogStream.objects.filter(workload_id=row.pk, complete=True).exists())
    finally:
        desk.close()
    return stage.now(row)


def turn(desk: Desk, met: Callable[[], bool]) -> None:
    deadline = clock.monotonic() + 60
    while not met():
        assert clock.monotonic() < deadline, "the log is not whole in time"
        desk.turn()


def log(owner: Person, row: Workload, query: str) -> str:
    answer = Client().get(f"/api/v1/training-jobs/{row.pk}/logs/?{query}", headers=people.bearer(owner))
    assert answer.status_code == 200
    return answer.content.decode()


def followed(owner: Person, row: Workload, query: str) -> str:
    headers = people.bearer(owner)

    @async_to_sync
    async def read() -> bytes:
        answer = await AsyncClient().get(f"/api/v1/training-jobs/{row.pk}/logs/?{query}", headers=headers)
        return b"".join([part async for part in answer.streaming_content])

    return read().decode()


def check(owner: Person, row: Workload) -> None:
    """Replacement characters where bytes were bad, and nowhere else."""
    assert log(owner, row, "tail=1") == LAST
    assert log(owner, row, "tail=2") == f"\ufffd alone\n{LAST}"
    for text in (log(owner, row, "tail=100"), followed(owner, row, "follow=true&tail=100")):
        assert text.endswith(SHOWN)
        glyphs = text.removesuffix(SHOWN)
        assert len(glyphs.splitlines()[-1]) > 500_000
        assert set(glyphs.splitlines()[-1]) == {"▉"}


def test_it_succeeds_and_its_log_is_whole_also_when_the_pod_is_gone(
    stage: Stage, owner: Person, said: Workload
) -> None:
    assert (said.state, said.reason, said.exit_code) == ("succeeded", "completed", 0)
    check(owner, said)
    page = Client()
    page.force_login(User.objects.get(pk=owner.id))
    answer = page.get(f"/workloads/{said.pk}/log/")
    assert answer.status_code == 200
    assert "▉▉▉\ufffd" in answer.content.decode()
    assert "\x00" not in answer.content.decode()

    stage.clock.move(minutes=11)
    stage.settle()
    assert stage.names("Pod") == []
    check(owner, said)
