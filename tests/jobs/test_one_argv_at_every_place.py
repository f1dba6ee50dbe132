"""Words of a command are the same list at every place: the answer, the manifests, the YAML, the pod, the curl line."""

from __future__ import annotations

import json
import shlex
from typing import Any

import pytest
import yaml
from django.test import Client

from jobs.web import sameas
from portal.kernel.actors import Person
from tests.factories import jobs
from tests.factories import tenants as people
from tests.jobs.stage import Stage

pytestmark = pytest.mark.django_db
LINE = "a | b > c 2>&1; d\te \\ 'single' \"double\" # none: " + "x" * 350 + " $HOME `ls` \\"
WORDS = ["--hf-overrides", '{"rope": {"factor": 2.0}}', "--served-model-name", "a", "b c", ""]
KINDS: dict[str, tuple[str, str, dict[str, list[str]]]] = {
    "training": ("training-jobs", "Job", {"command": ["bash", "-c"], "args": [LINE]}),
    "endpoint": ("endpoints", "Deployment", {"args": WORDS}),
}


def container(manifest: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = manifest["spec"]["template"]["spec"]["containers"][0]
    return found


def tail(argv: list[str], asked: list[str]) -> list[str]:
    """The platform's own flags come first; what was asked is the end."""
    return argv[len(argv) - len(asked) :]


@pytest.mark.parametrize("kind", KINDS)
def test_it_is_never_folded_split_or_read_by_a_shell(stage: Stage, owner: Person, kind: str) -> None:
    plural, holder, asked = KINDS[kind]
    client, headers = Client(), people.bearer(owner)
    body = jobs.request(kind, **asked)
    path = f"/api/v1/{plural}/"
    made = client.post(path, json.dumps(body), content_type="application/json", headers=headers).json()
    stage.settle()
    one = f"{path}{made['id']}/"
    answer = client.get(one, headers=headers).json()
    stored = client.get(f"{one}manifests/", headers=headers).json()["manifests"]
    text = client.get(f"{one}manifests/?format=yaml", headers=headers).content.decode()
    places = [
        next(found for found in stored if found["kind"] == holder),
        next(found for found in yaml.safe_load_all(text) if found["kind"] == holder),
        stage.objects(holder)[0],
    ]
    for field, words in asked.items():
        assert made[field] == answer[field] == words
        literal = [word.replace("$", "$$") for word in words]  # so that Kubernetes expands nothing and a program sees $
        assert [tail(container(found)[field], words) for found in places] == [literal] * len(places)
    line = sameas.curl("http://portal/api/v1/", body, "key")
    assert json.loads(next(word for word in shlex.split(line) if word.startswith("{"))) == body
