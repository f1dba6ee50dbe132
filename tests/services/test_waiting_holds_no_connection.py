"""On PostgreSQL with its pool: those who wait hold no connection, so that everybody else is served."""

import http.client
import threading
import time
import urllib.request
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from tests.tooling.portal import Portal, web_with_demo_data
from tests.tooling.processes import free_port, wait_until
from tests.tooling.smoke import Client

pytestmark = pytest.mark.services

WAITING = 16


@pytest.fixture
def portal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Portal]:
    monkeypatch.setenv("TURNO_DATABASE_POOL", str(WAITING // 2))
    with web_with_demo_data(tmp_path / "demo", free_port(4)) as running:
        yield running


def seconds(client: Client, path: str) -> float:
    began = time.monotonic()
    client.call("GET", path)
    return time.monotonic() - began


@pytest.mark.timeout(180)
@pytest.mark.parametrize("path", ["?wait=20&for=finished", "logs/?follow=true"], ids=["long polls", "followed logs"])
def test_many_may_wait_while_others_are_served(portal: Portal, tmp_path: Path, path: str) -> None:
    client = Client(tmp_path / "demo" / "credentials.json")
    job = client.submit(f"waits-{free_port()}")
    headers = {"Authorization": f"Bearer {portal.users[client.name]['token']}"}
    open_now = threading.Semaphore(0)

    def wait_for_it() -> None:
        request = urllib.request.Request(f"{portal.url}/api/v1/training-jobs/{job['id']}/{path}", headers=headers)
        open_now.release()
        with suppress(OSError, http.client.HTTPException), urllib.request.urlopen(request, timeout=60) as answer:
            answer.read()  # until the portal is stopped

    waiting = [threading.Thread(target=wait_for_it, daemon=True) for _ in range(WAITING)]
    for thread in waiting:
        thread.start()
    wait_until(lambda: open_now._value == WAITING, "all have asked")
    time.sleep(1)
    slowest = max(seconds(client, "/api/v1/me/") for _ in range(10))
    assert slowest < 2
