"""An endpoint's address: what it says in each state, with key and without, whole and in pieces."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any
from uuid import UUID

import orjson

from portal.cluster.simulated.objects import Obj
from tests.cluster.simulated.controllers.conftest import NAMESPACE
from tests.cluster.simulated.dataplane.conftest import ENDPOINT, KEY, Plane

V1 = f"/e/{ENDPOINT}/v1"
WITH_KEY = {"Authorization": f"Bearer {KEY}", "Content-Type": "application/json"}


def question(**more: Any) -> bytes:
    asked = {"model": "meta-llama/Llama-3.1-8B", "messages": [{"role": "user", "content": "Hola"}], **more}
    return orjson.dumps(asked)


async def test_a_ready_endpoint_completes_a_chat(plane: Plane, endpoint: Callable[[], None]) -> None:
    endpoint()
    plane.cluster.run(10)
    answer = await plane.ask(f"{V1}/chat/completions", method="POST", body=question(), headers=WITH_KEY)
    said = orjson.loads(answer.body)
    assert answer.status == 200
    assert said["object"] == "chat.completion"
    assert "Hola" in said["choices"][0]["message"]["content"]
    assert said["usage"]["total_tokens"] == said["usage"]["prompt_tokens"] + said["usage"]["completion_tokens"]


async def test_it_completes_plain_text_and_lists_its_model(plane: Plane, endpoint: Callable[[], None]) -> None:
    endpoint()
    plane.cluster.run(10)
    body = orjson.dumps({"prompt": "one two", "max_tokens": 3})
    answer = await plane.ask(f"{V1}/completions", method="POST", body=body, headers=WITH_KEY)
    assert orjson.loads(answer.body)["choices"][0]["text"] == "This is a"
    listed = orjson.loads((await plane.ask(f"{V1}/models", headers=WITH_KEY)).body)
    assert [one["id"] for one in listed["data"]] == ["meta-llama/Llama-3.1-8B"]
    assert (await plane.ask(f"/e/{ENDPOINT}/health")).status == 200


async def test_it_streams_in_pieces(plane: Plane, endpoint: Callable[[], None]) -> None:
    endpoint()
    plane.cluster.run(10)
    answer = await plane.ask(f"{V1}/chat/completions", method="POST", body=question(stream=True), headers=WITH_KEY)
    assert answer.header("content-type").startswith("text/event-stream")
    pieces = re.findall(r"data: (.*)", answer.body.decode())
    assert pieces[-1] == "[DONE]"
    text = "".join(orjson.loads(piece)["choices"][0]["delta"].get("content", "") for piece in pieces[:-1])
    assert text == 'This is a simulated answer to: "Hola"'


async def test_without_the_key_it_is_401_in_every_state(plane: Plane, endpoint: Callable[[], None]) -> None:
    endpoint()
    for seconds in (0, 2, 10):
        plane.cluster.run(seconds)
        for headers in ({}, {"Authorization": "Bearer wrong"}, {"Authorization": KEY}):
            answer = await plane.ask(f"{V1}/chat/completions", method="POST", body=question(), headers=headers)
            assert (answer.status, orjson.loads(answer.body)) == (401, {"error": "Unauthorized"})
    plane.cluster.store.delete("Deployment", NAMESPACE, "llm-1234567890-r1")
    plane.cluster.run(60)
    assert (await plane.ask(f"{V1}/models")).status == 401


async def test_while_it_loads_waits_or_is_stopped_it_says_so_at_once(
    plane: Plane, endpoint: Callable[[], None]
) -> None:
    endpoint()
    plane.cluster.run(3)
    answer = await plane.ask(f"{V1}/chat/completions", method="POST", body=question(stream=True), headers=WITH_KEY)
    assert (answer.status, answer.header("retry-after")) == (503, "2")
    assert orjson.loads(answer.body)["state"] == "loading"
    plane.cluster.store.delete("Deployment", NAMESPACE, "llm-1234567890-r1")
    plane.cluster.manager.tick()
    assert orjson.loads((await plane.ask(f"{V1}/models", headers=WITH_KEY)).body)["state"] == "stopping"
    plane.cluster.run(60)
    assert orjson.loads((await plane.ask(f"{V1}/models", headers=WITH_KEY)).body)["state"] == "stopped"


async def test_scaled_to_zero_is_idle(plane: Plane, endpoint: Callable[[], None]) -> None:
    endpoint()
    plane.cluster.run(10)
    plane.cluster.store.mutate(
        "Deployment", NAMESPACE, "llm-1234567890-r1", lambda found: found["spec"].update(replicas=0)
    )
    plane.cluster.run(5)
    assert orjson.loads((await plane.ask(f"{V1}/models", headers=WITH_KEY)).body)["state"] == "idle"


async def test_only_the_replica_that_is_ready_is_asked(plane: Plane, endpoint: Callable[[], None]) -> None:
    endpoint()
    plane.cluster.run(10)
    (ready,) = plane.cluster.pods()
    plane.cluster.store.mutate(
        "Deployment", NAMESPACE, "llm-1234567890-r1", lambda found: found["spec"].update(replicas=2)
    )
    plane.cluster.run(3)
    (loading,) = [pod for pod in plane.cluster.pods() if pod["metadata"]["uid"] != ready["metadata"]["uid"]]
    for _ in range(6):
        assert (await plane.ask(f"{V1}/models", headers=WITH_KEY)).status == 200
    assert (asked(plane, ready), asked(plane, loading)) == (6, 0)
    plane.cluster.run(10)
    for _ in range(6):
        assert (await plane.ask(f"{V1}/models", headers=WITH_KEY)).status == 200
    assert (asked(plane, ready), asked(plane, loading)) == (9, 3)


def asked(plane: Plane, pod: Obj) -> int:
    """How many questions are in a pod's own log."""
    lines, _ = plane.cluster.manager.world.logs.read(pod["metadata"]["uid"], "main", 0)
    return sum(b"access: GET /v1/models" in line.text for line in lines)


async def test_an_image_that_is_missing_is_told_from_loading(plane: Plane, endpoint: Callable[[], None]) -> None:
    plane.cluster.manager.world.settings.set_rules(())
    endpoint()
    plane.cluster.store.mutate(
        "Deployment",
        NAMESPACE,
        "llm-1234567890-r1",
        lambda found: found["spec"]["template"]["metadata"].update(annotations={"simulated.turno.dev/exit": "image"}),
    )
    plane.cluster.run(5)
    said = orjson.loads((await plane.ask(f"{V1}/models", headers=WITH_KEY)).body)
    assert (said["state"], said["message"]) == ("failing", "It cannot start: ImagePullBackOff.")


async def test_what_was_asked_for_just_now_is_not_ready_rather_than_missing(plane: Plane) -> None:
    moment = int(plane.cluster.manager.world.now().timestamp() * 1000)
    asked = f"/e/{UUID(int=moment << 80 | 0x7 << 76 | 0x2 << 62)}/v1/models"
    assert (await plane.ask(asked)).status == 401
    answer = await plane.ask(asked, headers=WITH_KEY)
    assert (answer.status, answer.header("retry-after")) == (503, "2")
    assert orjson.loads(answer.body)["state"] == "loading"
    plane.cluster.run(15)
    assert (await plane.ask(asked, headers=WITH_KEY)).status == 404


async def test_what_was_never_published_or_is_deleted_is_404(plane: Plane, endpoint: Callable[[], None]) -> None:
    assert (await plane.ask(f"{V1}/models", headers=WITH_KEY)).status == 404
    endpoint()
    plane.cluster.run(10)
    assert (await plane.ask(f"/e/{ENDPOINT}2/v1/models", headers=WITH_KEY)).status == 404
    plane.cluster.store.delete("HTTPRoute", NAMESPACE, "llm-1234567890")
    assert (await plane.ask(f"{V1}/models", headers=WITH_KEY)).status == 404


async def test_bad_calls_are_refused_as_vllm_does(plane: Plane, endpoint: Callable[[], None]) -> None:
    endpoint()
    plane.cluster.run(10)

    async def post(body: bytes) -> tuple[int, Any]:
        answer = await plane.ask(f"{V1}/chat/completions", method="POST", body=body, headers=WITH_KEY)
        return answer.status, orjson.loads(answer.body)["error"]["type"]

    assert await post(b"{") == (400, "BadRequestError")
    assert await post(b"{}") == (400, "BadRequestError")
    assert await post(question(model="other")) == (404, "NotFoundError")
    assert (await plane.ask(f"{V1}/chat/completions", headers=WITH_KEY)).status == 405
    assert (await plane.ask(f"{V1}/nothing", headers=WITH_KEY)).status == 404


async def test_the_portals_door_is_not_asked_for_endpoints(plane: Plane, endpoint: Callable[[], None]) -> None:
    endpoint()
    plane.cluster.run(10)
    await plane.ask(f"{V1}/models", headers=WITH_KEY)
    assert plane.portal.asked == []
