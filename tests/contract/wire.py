"""The API as it is on the wire, for what the gateway never asks: every answer is looked at, none raises."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import urllib3

from portal.cluster.kube import Connection
from portal.cluster.port import RESOURCES, JsonObject

JSON = "application/json"
MERGE = "application/merge-patch+json"
APPLY = "application/apply-patch+yaml"


@dataclass(frozen=True)
class Answer:
    """`warnings`: the texts of its Warning headers."""

    status: int
    text: str
    warnings: list[str]

    @property
    def json(self) -> JsonObject:
        found: JsonObject = json.loads(self.text)
        return found

    @property
    def version(self) -> int:
        return int(self.json["metadata"]["resourceVersion"])

    @property
    def causes(self) -> dict[str, str]:
        """Of a refusal: field -> words."""
        causes = (self.json.get("details") or {}).get("causes") or []
        return {cause.get("field", ""): cause.get("message", "") for cause in causes}


class Wire:
    """One API server by its address or its kubeconfig."""

    def __init__(self, target: str, manager: str = "contract") -> None:
        self._connection = Connection(target)
        self._manager = manager

    def call(
        self, method: str, path: str, body: Any = None, *, content: str = JSON, seconds: float = 30, **query: str
    ) -> Answer:
        response = self._send(method, path, body, content, query, seconds)
        try:
            text = response.data.decode()
        finally:
            response.close()
        warnings = [value.split('"')[1] for value in response.headers.getlist("Warning")]
        return Answer(response.status, text, warnings)

    @contextmanager
    def stream(self, path: str, *, seconds: float = 10, **query: str) -> Iterator[Iterator[bytes]]:
        """Lines as they come, until the server ends them."""
        response = self._send("GET", path, None, JSON, query, seconds)
        assert response.status == 200, response.data
        try:
            yield _lines(response)
        finally:
            response.close()

    def events(self, path: str, *, seconds: float = 10, **query: str) -> list[JsonObject]:
        """A watch until its time-out, or until an error or the end of the initial events."""
        found = []
        with self.stream(path, seconds=seconds + 5, watch="1", timeoutSeconds=str(int(seconds)), **query) as lines:
            for line in lines:
                event = json.loads(line)
                found.append(event)
                marks = event["object"].get("metadata", {}).get("annotations") or {}
                if event["type"] == "ERROR" or "k8s.io/initial-events-end" in marks:
                    break
        return found

    def create(self, obj: JsonObject, **query: str) -> Answer:
        return self.call("POST", collection(obj), obj, fieldManager=self._manager, **query)

    def apply(self, obj: JsonObject, *, manager: str = "", **query: str) -> Answer:
        query = {"fieldManager": manager or self._manager, **query}
        return self.call("PATCH", place(obj), obj, content=APPLY, **query)

    def merge(self, obj: JsonObject, patch: JsonObject, sub: str = "", **query: str) -> Answer:
        return self.call("PATCH", place(obj) + sub, patch, content=MERGE, fieldManager=self._manager, **query)

    def replace(self, obj: JsonObject, sub: str = "", **query: str) -> Answer:
        return self.call("PUT", place(obj) + sub, obj, fieldManager=self._manager, **query)

    def get(self, obj: JsonObject) -> Answer:
        return self.call("GET", place(obj))

    def delete(self, obj: JsonObject, **options: Any) -> Answer:
        return self.call("DELETE", place(obj), {"kind": "DeleteOptions", "apiVersion": "v1", **options})

    def _send(
        self, method: str, path: str, body: Any, content: str, query: dict[str, str], seconds: float
    ) -> urllib3.BaseHTTPResponse:
        client = self._connection.client()
        headers = {"Accept": JSON} | ({"Content-Type": content} if body is not None else {})
        method, url, sent, *_ = client.param_serialize(
            method=method,
            resource_path=path,
            query_params=list(query.items()),
            header_params=headers,
            auth_settings=["BearerToken"],
        )
        response: urllib3.BaseHTTPResponse = client.call_api(
            method, url, sent, body=body, _request_timeout=seconds
        ).response
        return response


def _lines(response: urllib3.BaseHTTPResponse) -> Iterator[bytes]:
    rest = b""
    pieces = response.read_chunked() if getattr(response, "chunked", False) else response.stream(65536)
    for piece in pieces:
        *whole, rest = (rest + piece).split(b"\n")
        yield from (line for line in whole if line)


def collection(obj: JsonObject) -> str:
    """Where objects of this kind and namespace are listed and made."""
    resource = RESOURCES[obj["kind"]]
    within = f"/namespaces/{obj['metadata']['namespace']}" if resource.namespaced else ""
    return f"{resource.path}{within}/{resource.plural}"


def place(obj: JsonObject) -> str:
    return f"{collection(obj)}/{obj['metadata']['name']}"
