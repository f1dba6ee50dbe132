"""A client of the REST API that speaks as one actor."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from django.http import HttpResponse
from django.test import Client

from portal.kernel.actors import Machine, Person
from tests.factories import tenants as people

API = "/api/v1"


class Rest:
    """Requests below `/api/v1` with one actor's token; `None`: nobody."""

    def __init__(self, actor: Person | Machine | None, scopes: tuple[str, ...] = ("read", "write")) -> None:
        self.client = Client(raise_request_exception=False)
        self.headers = people.bearer(actor, scopes) if actor else {}

    def call(self, method: str, path: str, body: Any = None, **headers: str) -> HttpResponse:
        raw = body if isinstance(body, bytes) else (b"" if body is None else json.dumps(body).encode())
        kind = headers.pop("content_type", "application/json")
        return self.client.generic(method, f"{API}{path}", raw, content_type=kind, headers={**self.headers, **headers})

    def get(self, path: str, **headers: str) -> HttpResponse:
        return self.call("GET", path, **headers)

    def post(self, path: str, body: Any = None, **headers: str) -> HttpResponse:
        return self.call("POST", path, body, **headers)

    def patch(self, path: str, body: Any = None, **headers: str) -> HttpResponse:
        return self.call("PATCH", path, body, **headers)

    def delete(self, path: str, **headers: str) -> HttpResponse:
        return self.call("DELETE", path, **headers)


@pytest.fixture
def rest() -> Callable[..., Rest]:
    """`rest(actor)`: the API as this actor."""
    return Rest


@pytest.fixture
def job() -> dict[str, Any]:
    """A training job of the team that fits the lab."""
    return {
        "name": "train",
        "tenant": "data",
        "flavor": "h100-1g",
        "gpus": 1,
        "cpu": "2",
        "memory": "8Gi",
        "image": "pytorch",
        "framework": "job",
        "command": ["python", "train.py"],
    }
