"""Calls made up from the API's own schema: no 500, and no answer that the schema does not tell."""

import json
from collections.abc import Iterator

import pytest
import schemathesis
from hypothesis import HealthCheck, settings
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from portal.shell.docs import document
from tests.tooling.portal import Portal, web_with_demo_data
from tests.tooling.processes import free_port

CHECKS = [not_a_server_error, status_code_conformance, content_type_conformance, response_schema_conformance]
EXAMPLES = 10

pytestmark = pytest.mark.fuzz


@pytest.fixture(scope="session")
def portal(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Portal]:
    with web_with_demo_data(tmp_path_factory.mktemp("fuzz") / "demo", free_port(4)) as running:
        yield running


schema = schemathesis.openapi.from_dict(json.loads(json.dumps(document())))


def judge(case: schemathesis.Case, portal: Portal, role: str) -> None:
    token = portal.first(role)["token"]
    case.call_and_validate(base_url=portal.url, headers={"Authorization": f"Bearer {token}"}, checks=CHECKS)


few = settings(max_examples=EXAMPLES, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))


@schema.parametrize()
@few
def test_as_a_manager(case: schemathesis.Case, portal: Portal) -> None:
    judge(case, portal, "manager")


@schema.parametrize()
@few
def test_as_the_administrator(case: schemathesis.Case, portal: Portal) -> None:
    judge(case, portal, "admin")
