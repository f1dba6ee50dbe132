"""`examples/run_job.py` over a broken connection: the log goes on where it was, and no line is missing."""

from __future__ import annotations

import importlib
import sys
import threading
from collections.abc import Iterator
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import ModuleType, SimpleNamespace
from urllib.parse import parse_qs, urlsplit

import pytest

EXAMPLES = Path(__file__).parents[2] / "examples"
PIECES = ("one\ntwo\n", "three\n")


class Portal(BaseHTTPRequestHandler):
    """Every answer but the last breaks off; its clock is an hour behind the caller's."""

    protocol_version = "HTTP/1.1"
    asked: list[dict[str, list[str]]]

    def date_time_string(self, timestamp: float | None = None) -> str:
        return "Tue, 01 Dec 2026 09:00:00 GMT"

    def do_GET(self) -> None:
        self.asked.append(parse_qs(urlsplit(self.path).query))
        piece = PIECES[len(self.asked) - 1].encode()
        self.send_response(200)
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        self.wfile.write(b"%x\r\n%s\r\n" % (len(piece), piece))
        if len(self.asked) == len(PIECES):
            self.wfile.write(b"0\r\n\r\n")
        self.close_connection = True

    def log_message(self, *args: object) -> None:
        """Nothing of it is to be read."""


@pytest.fixture
def portal() -> Iterator[str]:
    Portal.asked = []
    with ThreadingHTTPServer(("127.0.0.1", 0), Portal) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_address[1]}"
        server.shutdown()


@pytest.fixture
def step(monkeypatch: pytest.MonkeyPatch) -> Iterator[ModuleType]:
    """The example, which does not wait before it asks again."""
    monkeypatch.syspath_prepend(str(EXAMPLES))
    found = importlib.import_module("run_job")
    monkeypatch.setattr(found, "time", SimpleNamespace(sleep=lambda seconds: None))
    yield found
    sys.modules.pop("run_job", None)


def test_a_broken_log_goes_on_where_it_was(step: ModuleType, portal: str, capsys: pytest.CaptureFixture[str]) -> None:
    step.show_log(step.Turno(portal, "token"), "/training-jobs/x/", 2)
    said = capsys.readouterr()
    assert said.out == "one\ntwo\nthree\n"
    assert said.err.startswith("the log was cut off")
    first, second = Portal.asked
    assert (first["run"], first["follow"], first["tail"]) == (["2"], ["true"], ["10000"])
    assert "tail" not in second  # else lines beyond the last ten thousand would be missing
    since = datetime.fromisoformat(second["since"][0].replace("Z", "+00:00"))
    assert datetime(2026, 12, 1, 8, 59, 50, tzinfo=UTC) <= since < datetime(2026, 12, 1, 9, tzinfo=UTC)
