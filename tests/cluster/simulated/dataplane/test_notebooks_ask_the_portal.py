"""A notebook's host: the portal decides who comes in, its cookies stay out, and open connections end with the right."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable

import orjson
import pytest
import websocket

from tests.cluster.simulated.controllers.conftest import NAMESPACE
from tests.cluster.simulated.dataplane.conftest import NOTEBOOK_HOST, Plane

CHANNEL = "/api/kernels/simulated/channels"


async def test_an_allowed_browser_sees_the_notebook(plane: Plane, notebook: Callable[[], None]) -> None:
    notebook()
    plane.cluster.run(5)
    answer = await plane.ask("/lab", host=NOTEBOOK_HOST, headers={"Accept": "text/html"})
    page = answer.body.decode()
    assert answer.status == 200
    assert "This is a simulated notebook" in page
    assert "lab-1234567890" in page
    assert "unsafe" not in answer.header("content-security-policy")
    assert "<script>" not in page
    for path, kind in (("/static/notebook.js", "text/javascript"), ("/static/notebook.css", "text/css")):
        found = await plane.ask(path, host=NOTEBOOK_HOST)
        assert (found.status, found.header("content-type").split(";")[0]) == (200, kind)


async def test_the_portal_is_asked_with_the_original_address(plane: Plane, notebook: Callable[[], None]) -> None:
    notebook()
    plane.cluster.run(5)
    await plane.ask("/lab?ticket=abc", host=NOTEBOOK_HOST, headers={"Cookie": "turno_connect=t; theme=dark"})
    (asked,) = plane.portal.asked
    assert asked["path"] == "/connect/check/"
    assert asked["x-forwarded-host"] == f"{NOTEBOOK_HOST}:{plane.port}"
    assert asked["x-forwarded-uri"] == "/lab?ticket=abc"
    assert asked["x-forwarded-method"] == "GET"
    assert asked["x-original-url"] == f"http://{NOTEBOOK_HOST}:{plane.port}/lab?ticket=abc"
    assert asked["cookie"] == "turno_connect=t; theme=dark"


async def test_the_portals_cookies_never_reach_the_notebook(plane: Plane, notebook: Callable[[], None]) -> None:
    notebook()
    plane.cluster.run(5)
    cookies = "turno_connect=t; __Host-turno_connect=u; sessionid=s; csrftoken=c; theme=dark"
    answer = await plane.ask("/api/request", host=NOTEBOOK_HOST, headers={"Cookie": cookies})
    assert orjson.loads(answer.body)["headers"]["cookie"] == "theme=dark"


async def test_a_cookie_that_the_portal_sets_reaches_the_browser(plane: Plane, notebook: Callable[[], None]) -> None:
    notebook()
    plane.cluster.run(5)
    plane.portal.headers = [(b"set-cookie", b"turno_connect=new; Path=/; HttpOnly"), (b"x-other", b"no")]
    answer = await plane.ask("/lab", host=NOTEBOOK_HOST)
    assert answer.header("set-cookie") == "turno_connect=new; Path=/; HttpOnly"
    assert answer.header("x-other") == ""


async def test_the_notebooks_own_token_is_added_by_the_gateway(plane: Plane, notebook: Callable[[], None]) -> None:
    notebook()
    meta = {"name": "tok", "namespace": NAMESPACE}
    secret = {"apiVersion": "v1", "kind": "Secret", "metadata": meta, "data": {"token": "czNjcmV0"}}
    plane.cluster.store.create(secret)
    source = {"secretKeyRef": {"name": "tok", "key": "token"}}
    env = [{"name": "JUPYTER_TOKEN", "valueFrom": source}]
    plane.cluster.store.mutate(
        "StatefulSet",
        NAMESPACE,
        "lab-1234567890-r1",
        lambda found: found["spec"]["template"]["spec"]["containers"][0].update(env=env),
    )
    plane.cluster.run(5)
    guessed = {"Authorization": "token guess"}
    assert (await plane.ask("/lab", host=NOTEBOOK_HOST, headers=guessed)).status == 403
    plane.portal.headers = [(b"authorization", b"token s3cret")]
    answer = await plane.ask("/lab", host=NOTEBOOK_HOST, headers=guessed)
    assert answer.status == 200
    assert answer.header("authorization") == ""


@pytest.mark.parametrize(("status", "header"), [(302, "location"), (401, "www-authenticate"), (403, "")])
async def test_a_refusal_is_passed_on(plane: Plane, notebook: Callable[[], None], status: int, header: str) -> None:
    notebook()
    plane.cluster.run(5)
    plane.portal.status, plane.portal.body = status, b"no"
    plane.portal.headers = [(header.encode(), b"value")] if header else []
    answer = await plane.ask("/lab", host=NOTEBOOK_HOST)
    assert (answer.status, answer.body) == (status, b"no")
    assert not header or answer.header(header) == "value"


async def test_without_the_portal_nothing_is_opened(plane: Plane, notebook: Callable[[], None]) -> None:
    notebook()
    plane.cluster.run(5)
    plane.portal.status = 503
    assert (await plane.ask("/lab", host=NOTEBOOK_HOST)).status == 503


async def test_a_notebook_that_is_not_ready_says_so(plane: Plane, notebook: Callable[[], None]) -> None:
    notebook()
    plane.cluster.run(0.5)
    answer = await plane.ask("/lab", host=NOTEBOOK_HOST)
    assert (answer.status, orjson.loads(answer.body)["state"]) == (503, "loading")
    page = await plane.ask("/lab", host=NOTEBOOK_HOST, headers={"Accept": "text/html"})
    assert b'http-equiv="refresh"' in page.body


async def test_another_host_is_nobody(plane: Plane, notebook: Callable[[], None]) -> None:
    notebook()
    plane.cluster.run(5)
    assert (await plane.ask("/lab", host="other.localhost")).status == 404
    assert plane.portal.asked == []


class Socket:
    """A WebSocket in a thread of its own."""

    def __init__(self, plane: Plane) -> None:
        self._plane = plane
        self._socket = websocket.WebSocket()

    async def open(self) -> None:
        url, host = f"ws://127.0.0.1:{self._plane.port}{CHANNEL}", f"{NOTEBOOK_HOST}:{self._plane.port}"
        self._socket.settimeout(5)
        await asyncio.to_thread(self._socket.connect, url, host=host)

    async def say(self, text: str) -> str:
        await asyncio.to_thread(self._socket.send, text)
        return str(await asyncio.to_thread(self._socket.recv))

    async def closing(self) -> int:
        """The code with which the other side closes."""
        opcode, data = await asyncio.to_thread(self._socket.recv_data)
        assert opcode == websocket.ABNF.OPCODE_CLOSE
        return int.from_bytes(data[:2], "big")

    async def close(self) -> None:
        await asyncio.to_thread(self._socket.shutdown)


@pytest.fixture
async def socket(plane: Plane) -> AsyncIterator[Socket]:
    made = Socket(plane)
    yield made
    await made.close()


async def test_a_live_connection_echoes(plane: Plane, notebook: Callable[[], None], socket: Socket) -> None:
    notebook()
    plane.cluster.run(5)
    await socket.open()
    assert await socket.say("print(1)") == "print(1)"


async def test_a_connection_ends_when_the_right_is_lost(
    plane: Plane, notebook: Callable[[], None], socket: Socket
) -> None:
    notebook()
    plane.cluster.run(5)
    await socket.open()
    plane.portal.status = 401
    assert await socket.closing() == 4403


async def test_a_connection_ends_when_the_notebook_stops(
    plane: Plane, notebook: Callable[[], None], socket: Socket
) -> None:
    notebook()
    plane.cluster.run(5)
    await socket.open()
    plane.cluster.store.delete("StatefulSet", NAMESPACE, "lab-1234567890-r1")
    plane.cluster.run(3)
    assert await socket.closing() == 1001


async def test_a_connection_is_not_opened_without_the_right(
    plane: Plane, notebook: Callable[[], None], socket: Socket
) -> None:
    notebook()
    plane.cluster.run(5)
    plane.portal.status = 401
    with pytest.raises(websocket.WebSocketBadStatusException) as refused:
        await socket.open()
    assert refused.value.status_code == 403
