"""Calls made up from the API's own schema: no 500, and no answer that the schema does not tell."""

from collections.abc import Iterator
from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, settings
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from tests.tooling.portal import Portal, web_with_demo_data
from tests.tooling.processes import free_port

CHECKS = [not_a_server_error, status_code_conformance, content_type_conformance, response_schema_conformance]
EXAMPLES = 20

pytestmark = pytest.mark.fuzz


@pytest.fixture(scope="session")
def portal(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Portal]:
    with web_with_demo_data(tmp_path_factory.mktemp("fuzz") / "demo", free_port(4)) as running:
        yield running


@pytest.fixture(scope="session")
def api(portal: Portal) -> Any:
    return schemathesis.openapi.from_url(f"{portal.url}/api/v1/schema/?format=json")


schema = schemathesis.pytest.from_fixture("api")


@pytest.mark.timeout(300)
@pytest.mark.parametrize("role", ["manager", "admin"])
@schema.parametrize()
@settings(max_examples=EXAMPLES, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
def test_an_operation(case: schemathesis.Case, portal: Portal, role: str) -> None:
    token = portal.first(role)["token"]
    case.call_and_validate(headers={"Authorization": f"Bearer {token}"}, checks=CHECKS)
