"""The REST API over real connections, from any thread; every answer is looked at, none raises."""

from __future__ import annotations

import json
import urllib.error
import urllib.request
import uuid
from dataclasses import dataclass
from email.message import Message
from typing import Any

from tests.tooling.processes import wait_until

# Nominal seconds; the stage's cluster is faster by `stage.SPEED`. A job runs until somebody ends it unless it is SHORT.
SHORT = {"TURNO_SIM_SECONDS": "5"}
TRAINING: dict[str, Any] = {
    "env": {"TURNO_SIM_SECONDS": "3000"},
    "flavor": "cpu",
    "gpus": 0,
    "cpu": "1",
    "memory": "1Gi",
    "image": "python",
    "framework": "job",
    "command": ["python", "train.py"],
}
NOTEBOOK: dict[str, Any] = {
    "flavor": "cpu",
    "gpus": 0,
    "cpu": "1",
    "memory": "1Gi",
    "image": "jupyterlab",
    "ide": "jupyterlab",
    "storage": "1Gi",
}
ENDPOINT: dict[str, Any] = {
    "flavor": "h100-1g",
    "gpus": 1,
    "cpu": "1",
    "memory": "1Gi",
    "image": "vllm",
    "model": "Qwen/Qwen3-0.6B",
    "runtime": "vllm-plain",
}
PATHS = {"training": "/training-jobs/", "notebook": "/notebooks/", "endpoint": "/endpoints/"}
BODIES = {"training": TRAINING, "notebook": NOTEBOOK, "endpoint": ENDPOINT}


@dataclass(frozen=True)
class Answer:
    """Status 0: there was none."""

    status: int
    body: bytes
    headers: Message

    @property
    def json(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self.body)
        return found

    @property
    def text(self) -> str:
        return self.body.decode(errors="replace")


def http(
    method: str, url: str, *, headers: dict[str, str] | None = None, body: bytes | None = None, timeout: float = 70
) -> Answer:
    request = urllib.request.Request(url, body, headers or {}, method=method)
    try:
        with urllib.request.urlopen(request, timeout=timeout) as answer:
            return Answer(answer.status, answer.read(), answer.headers)
    except urllib.error.HTTPError as error:
        return Answer(error.code, error.read(), error.headers)
    except OSError as error:
        return Answer(0, str(error).encode(), Message())


@dataclass(frozen=True)
class Client:
    """One person, by token."""

    url: str
    token: str
    tenant: str

    def call(self, method: str, path: str, body: Any = None, **headers: str) -> Answer:
        sent = {"Authorization": f"Bearer {self.token}", "Content-Type": "application/json", **headers}
        data = None if body is None else json.dumps(body).encode()
        return http(method, f"{self.url}/api/v1{path}", headers=sent, body=data)

    def post(self, kind: str, name: str, *, key: str = "", **changes: Any) -> Answer:
        body = {"tenant": self.tenant, "name": name, **BODIES[kind], **changes}
        return self.call("POST", PATHS[kind], body, **{"Idempotency-Key": key or uuid.uuid4().hex})

    def submit(self, kind: str, name: str, **changes: Any) -> Submitted:
        """An accepted workload."""
        answer = self.post(kind, name, **changes)
        assert answer.status == 201, answer.text
        return Submitted(self, kind, answer.json["id"], name)


@dataclass(frozen=True)
class Submitted:
    """One workload, as its owner sees and handles it."""

    client: Client
    kind: str
    id: str
    name: str

    @property
    def path(self) -> str:
        return f"{PATHS[self.kind]}{self.id}/"

    @property
    def stem(self) -> str:
        """What the names of its objects begin with."""
        return f"-{self.id.replace('-', '')[-10:]}"

    def now(self) -> dict[str, Any]:
        answer = self.client.call("GET", self.path)
        if answer.status == 404:
            return {"state": "deleted", "reason": "deleted"}
        assert answer.status == 200, answer.text
        return answer.json

    def do(self, verb: str) -> int:
        """`stop` or `start`; the status of the answer."""
        return self.client.call("POST", f"{self.path}{verb}/").status

    def delete(self, *, data: bool = True) -> int:
        return self.client.call("DELETE", f"{self.path}?delete_data={str(data).lower()}").status

    def until(self, *states: str, reason: str = "", within: float = 90) -> dict[str, Any]:
        """The answer once it is in one of the states, and has the reason where one is given."""
        seen: dict[str, Any] = {}

        def there() -> bool:
            seen.update(self.now())
            return seen["state"] in states and reason in ("", seen["reason"])

        what = f"{self.name} {states} {reason}"
        try:
            wait_until(there, what, within, every=0.2)
        except AssertionError:
            raise AssertionError(f"{what}: it is {seen.get('state')}, {seen.get('reason')}: {seen}") from None
        return seen
