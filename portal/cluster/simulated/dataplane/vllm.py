"""The simulated model server: vLLM's OpenAI-compatible HTTP API, with made-up answers."""

from __future__ import annotations

import asyncio
import base64
import binascii
import hmac
from collections.abc import AsyncIterator
from typing import Any

import orjson

from portal.cluster.simulated.controllers.output import model_name
from portal.cluster.simulated.dataplane.messages import Incoming, Outgoing, as_json
from portal.cluster.simulated.objects import Obj
from portal.cluster.simulated.store import Store

_PIECE_SECONDS = 0.02
_LONGEST = 4096


def is_authorized(store: Store, route: Obj, request: Incoming) -> bool:
    """Whether the bearer token is one of the keys that the workload's Secrets hold."""
    scheme, _, token = request.header("authorization").partition(" ")
    given = token.strip().encode()
    if scheme.lower() != "bearer" or not given:
        return False
    return sum(hmac.compare_digest(given, key) for key in _keys(store, route)) > 0


def needs_key(path: str) -> bool:
    """vLLM guards what lies below /v1."""
    return path == "/v1" or path.startswith("/v1/")


def unauthorized() -> Outgoing:
    return as_json(401, {"error": "Unauthorized"}, (("www-authenticate", "Bearer"),))


async def answer(pod: Obj, request: Incoming, path: str, created: int) -> Outgoing:
    """One call to a ready server. created: the time that goes into answers, in seconds."""
    model = model_name(pod)
    if path in ("/health", "/ping"):
        return Outgoing(200)
    if path == "/version":
        return as_json(200, {"version": "0.32.0+simulated"})
    if path == "/v1/models":
        card = {"id": model, "object": "model", "created": created, "owned_by": "vllm", "root": model, "parent": None}
        return as_json(200, {"object": "list", "data": [card]})
    if path not in ("/v1/completions", "/v1/chat/completions"):
        return as_json(404, {"detail": "Not Found"})
    if request.method != "POST":
        return as_json(405, {"detail": "Method Not Allowed"}, (("allow", "POST"),))
    return _complete(request, model, created, chat=path.endswith("/chat/completions"))


def _complete(request: Incoming, model: str, created: int, *, chat: bool) -> Outgoing:
    try:
        asked = orjson.loads(request.body)
    except orjson.JSONDecodeError:
        return _error(400, "BadRequestError", "The body is not JSON.")
    if not isinstance(asked, dict):
        return _error(400, "BadRequestError", "The body must be an object.")
    if asked.get("model") not in (None, model):
        return _error(404, "NotFoundError", f"The model `{asked['model']}` does not exist.")
    prompt = _prompt(asked, chat=chat)
    if prompt is None:
        field = "messages" if chat else "prompt"
        return _error(400, "BadRequestError", f"Field required: {field}")
    words = _words(prompt, asked.get("max_tokens"))
    reply = _Reply(model, created, len(prompt.split()), chat)
    if asked.get("stream") is True:
        return Outgoing(200, content_type="text/event-stream; charset=utf-8", stream=reply.stream(words))
    return as_json(200, reply.whole(words))


class _Reply:
    def __init__(self, model: str, created: int, prompt_tokens: int, chat: bool) -> None:  # noqa: FBT001
        self._chat = chat
        self._prompt_tokens = prompt_tokens
        self._head = {"id": f"{'chatcmpl' if chat else 'cmpl'}-simulated-{created}", "created": created, "model": model}

    def whole(self, words: list[str]) -> dict[str, Any]:
        text = "".join(words)
        said: dict[str, Any] = {"message": {"role": "assistant", "content": text}} if self._chat else {"text": text}
        kind = "chat.completion" if self._chat else "text_completion"
        total = self._prompt_tokens + len(words)
        usage = {"prompt_tokens": self._prompt_tokens, "completion_tokens": len(words), "total_tokens": total}
        choice = {"index": 0, **said, "logprobs": None, "finish_reason": "stop"}
        return {**self._head, "object": kind, "choices": [choice], "usage": usage}

    async def stream(self, words: list[str]) -> AsyncIterator[bytes]:
        if self._chat:
            yield self._event({"delta": {"role": "assistant", "content": ""}}, None)
        for word in words:
            yield self._event({"delta": {"content": word}} if self._chat else {"text": word}, None)
            await asyncio.sleep(_PIECE_SECONDS)
        yield self._event({"delta": {}} if self._chat else {"text": ""}, "stop")
        yield b"data: [DONE]\n\n"

    def _event(self, said: dict[str, Any], reason: str | None) -> bytes:
        kind = "chat.completion.chunk" if self._chat else "text_completion"
        choice = {"index": 0, **said, "logprobs": None, "finish_reason": reason}
        return b"data: " + orjson.dumps({**self._head, "object": kind, "choices": [choice]}) + b"\n\n"


def _prompt(asked: dict[str, Any], *, chat: bool) -> str | None:
    if not chat:
        prompt = asked.get("prompt")
        return prompt if isinstance(prompt, str) else None
    messages = asked.get("messages")
    if not isinstance(messages, list) or not messages or not isinstance(messages[-1], dict):
        return None
    content = messages[-1].get("content")
    return content if isinstance(content, str) else ""


def _words(prompt: str, limit: object) -> list[str]:
    text = f'This is a simulated answer to: "{prompt[:_LONGEST]}"'
    words = [word if number == 0 else f" {word}" for number, word in enumerate(text.split(" "))]
    return words[:limit] if isinstance(limit, int) and limit > 0 else words


def _error(status: int, kind: str, message: str) -> Outgoing:
    return as_json(status, {"error": {"message": message, "type": kind, "param": None, "code": status}})


def _keys(store: Store, route: Obj) -> list[bytes]:
    """The values of the Secrets that belong to the route's workload."""
    workload = (route["metadata"].get("labels") or {}).get("turno.dev/workload")
    if not workload:
        return []
    keys = []
    for secret in store.scan("Secret", route["metadata"]["namespace"], {"turno.dev/workload": workload}):
        for value in (secret.get("data") or {}).values():
            try:
                keys.append(base64.b64decode(value, validate=True))
            except (binascii.Error, TypeError, ValueError):
                continue
        keys.extend(str(value).encode() for value in (secret.get("stringData") or {}).values())
    return [key for key in keys if key]
