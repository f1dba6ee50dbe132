"""The OpenAPI document: valid, complete, readable, and its examples work as they stand."""

from __future__ import annotations

import json

import pytest
import yaml
from django.test import Client
from jsonschema import Draft202012Validator

from jobs.api.kinds import EXAMPLES
from portal.cluster.models import Cluster

pytestmark = pytest.mark.django_db
PATHS = {"notebook": "/notebooks/", "training": "/training-jobs/", "endpoint": "/endpoints/"}


@pytest.fixture
def document() -> dict:
    return Client().get("/api/v1/schema/?format=json").json()


def test_json_and_yaml_are_the_same_document_and_need_no_account(document) -> None:
    as_yaml = Client().get("/api/v1/schema/")
    assert as_yaml.headers["Content-Type"].startswith("application/yaml")
    assert yaml.safe_load(as_yaml.content) == document
    assert Client().get("/api/v1/schema/", headers={"Accept": "application/json"}).json() == document
    assert document["openapi"].startswith("3.1")


def test_every_reference_resolves_and_every_schema_is_one(document) -> None:
    text = json.dumps(document)
    for name in document["components"]["schemas"]:
        Draft202012Validator.check_schema(document["components"]["schemas"][name])
    for reference in {part.split('"')[0] for part in text.split('"$ref": "')[1:]}:
        assert reference.removeprefix("#/components/schemas/") in document["components"]["schemas"], reference


def test_every_operation_has_its_own_id_and_documents_its_problems(document) -> None:
    operations = [op for item in document["paths"].values() for op in item.values()]
    assert len({op["operationId"] for op in operations}) == len(operations)
    for op in operations:
        assert {"401", "404"} <= set(op["responses"]), op["operationId"]


def test_every_post_with_a_body_has_an_example(document) -> None:
    for path, item in document["paths"].items():
        if "requestBody" in item.get("post", {}):
            content = item["post"]["requestBody"]["content"]["application/json"]
            assert content.get("examples"), path


@pytest.mark.parametrize("kind", ["notebook", "training", "endpoint"])
def test_the_examples_are_accepted_as_they_stand(rest, owner, room, kind) -> None:
    gate = {"group": "gateway.turno.dev", "kind": "ForwardAuth", "name": "turno"}
    Cluster.objects.filter(pk=room.cluster.pk).update(auth_filter=gate)
    answer = rest(owner).post(PATHS[kind], EXAMPLES[kind])
    assert answer.status_code == 201, answer.content


def test_people_can_read_it_without_an_account() -> None:
    page = Client().get("/api/v1/docs/")
    assert page.status_code == 200
    assert "/api/v1/training-jobs/" in page.content.decode()
