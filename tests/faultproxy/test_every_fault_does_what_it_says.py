"""The proxy itself: each fault is seen by a client as described, and told to the test."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
import urllib3
from urllib3.exceptions import HTTPError, ProtocolError, ReadTimeoutError

from portal.kernel import clock
from tests.faultproxy.proxy import Fault, FaultProxy
from tests.tooling.processes import wait_until


class Upstream(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    written: list[str]

    def do_GET(self) -> None:
        if self.path == "/pieces":
            self._answer_in_pieces()
        else:
            self._answer()

    def _answer_in_pieces(self) -> None:
        self.send_response(200)
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        for piece in (b"one ", b"two ", b"three "):
            self.wfile.write(b"%x\r\n%s\r\n" % (len(piece), piece))
        self.wfile.write(b"0\r\n\r\n")

    def do_POST(self) -> None:
        self.written.append(self.rfile.read(int(self.headers["Content-Length"])).decode())
        self._answer()

    def _answer(self) -> None:
        body = b"0123456789" * 100
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Silent."""


@pytest.fixture
def proxy() -> Iterator[FaultProxy]:
    handler = type("Handler", (Upstream,), {"written": []})
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    with FaultProxy(f"http://127.0.0.1:{server.server_address[1]}") as found:
        found.written = handler.written  # type: ignore[attr-defined]
        yield found
    server.shutdown()
    server.server_close()
    thread.join(5)


def ask(proxy: FaultProxy, method: str = "GET", path: str = "/a?b=1", **options: object) -> urllib3.BaseHTTPResponse:
    with urllib3.PoolManager(retries=False, timeout=3) as pool:
        return pool.request(method, proxy.address + path, **options)  # type: ignore[arg-type]


def test_without_a_fault_it_passes_everything_on(proxy: FaultProxy) -> None:
    answer = ask(proxy, "POST", body=b"x" * 5)

    assert (answer.status, len(answer.data)) == (200, 1000)
    assert proxy.written == ["xxxxx"]  # type: ignore[attr-defined]
    assert proxy.seen == ["POST /a?b=1"]
    assert proxy.taken == []


def test_status_answers_in_kubernetes_form_as_often_as_asked(proxy: FaultProxy) -> None:
    proxy.add(Fault("status", match="^GET /a", times=1, status=429, retry_after=2))

    refused = ask(proxy)

    assert (refused.status, refused.headers["Retry-After"]) == (429, "2")
    assert refused.json()["reason"] == "TooManyRequests"
    assert ask(proxy).status == 200
    assert proxy.taken == ["status GET /a"]


def test_reset_before_never_reaches_upstream(proxy: FaultProxy) -> None:
    proxy.add(Fault("reset_before", match="^POST"))

    with pytest.raises(ProtocolError):
        ask(proxy, "POST", body=b"lost")

    assert proxy.written == []  # type: ignore[attr-defined]
    assert ask(proxy).status == 200


def test_reset_after_is_written_upstream_and_its_answer_lost(proxy: FaultProxy) -> None:
    proxy.add(Fault("reset_after", match="^POST"))

    with pytest.raises(ProtocolError):
        ask(proxy, "POST", body=b"kept")

    assert proxy.written == ["kept"]  # type: ignore[attr-defined]


def test_truncate_cuts_the_body(proxy: FaultProxy) -> None:
    proxy.add(Fault("truncate", bytes=15))

    with pytest.raises(HTTPError):
        ask(proxy)


def test_hang_and_mute_are_silent(proxy: FaultProxy) -> None:
    hang = proxy.add(Fault("hang", seconds=5))
    with pytest.raises(ReadTimeoutError):
        ask(proxy, timeout=0.2)
    proxy.remove(hang)

    proxy.add(Fault("mute", bytes=10, seconds=5))
    with pytest.raises(ReadTimeoutError):
        ask(proxy, timeout=0.2)


def test_delay_answers_later(proxy: FaultProxy) -> None:
    proxy.add(Fault("delay", seconds=0.3, times=1))
    started = clock.monotonic()

    assert ask(proxy).status == 200
    assert clock.monotonic() - started >= 0.3


def test_refuse_and_accept_take_the_server_down_and_bring_it_back(proxy: FaultProxy) -> None:
    proxy.refuse()
    with pytest.raises(HTTPError):
        ask(proxy)

    proxy.accept()
    assert ask(proxy).status == 200


def test_cut_resets_what_is_open(proxy: FaultProxy) -> None:
    proxy.add(Fault("mute", bytes=10, seconds=30))
    threading.Timer(0.2, proxy.cut).start()

    with pytest.raises(ProtocolError):
        ask(proxy)


def test_a_held_request_goes_on_when_it_is_released_though_its_sender_has_gone(proxy: FaultProxy) -> None:
    fault = proxy.add(Fault("hold"))
    with urllib3.PoolManager(retries=False, timeout=0.2) as pool, pytest.raises(HTTPError):
        pool.request("POST", f"{proxy.address}/a", body=b"late")
    assert proxy.written == []  # type: ignore[attr-defined]
    fault.release()
    wait_until(lambda: proxy.written == ["late"], "the request arrives")  # type: ignore[attr-defined]


def test_a_held_answer_was_given_upstream(proxy: FaultProxy) -> None:
    fault = proxy.add(Fault("hold_after"))
    with urllib3.PoolManager(retries=False, timeout=0.2) as pool, pytest.raises(HTTPError):
        pool.request("POST", f"{proxy.address}/a", body=b"there")
    assert proxy.written == ["there"]  # type: ignore[attr-defined]
    fault.release()
    assert ask(proxy).status == 200


def test_pieces_come_twice(proxy: FaultProxy) -> None:
    proxy.add(Fault("double"))
    assert ask(proxy, path="/pieces").data == b"one one two two three three "


def test_pieces_come_in_another_order(proxy: FaultProxy) -> None:
    proxy.add(Fault("swap"))
    assert ask(proxy, path="/pieces").data == b"two one three "
