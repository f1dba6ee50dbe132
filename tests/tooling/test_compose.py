"""docker-compose.yml and the Dockerfile: every process, health, no secret, no root, nothing wider than needed."""

import re
from typing import Any

import pytest
import yaml

from tests.tooling.processes import ROOT

FILE: dict[str, Any] = yaml.safe_load((ROOT / "docker-compose.yml").read_text())
SERVICES: dict[str, dict[str, Any]] = FILE["services"]
OURS = {"migrate", "web", "worker", "beat", "watch", "logs"}
DOCKERFILE = (ROOT / "Dockerfile").read_text()


def test_every_process_is_there() -> None:
    assert set(SERVICES) == OURS | {"postgres", "redis"}


def test_every_long_running_process_says_how_it_is() -> None:
    assert {name for name, service in SERVICES.items() if "healthcheck" not in service} == {"migrate"}


@pytest.mark.parametrize("name", sorted(OURS - {"migrate"}))
def test_processes_wait_for_the_one_migration(name: str) -> None:
    assert SERVICES[name]["depends_on"]["migrate"] == {"condition": "service_completed_successfully"}


@pytest.mark.parametrize("name", sorted(OURS))
def test_processes_have_no_rights_that_they_do_not_need(name: str) -> None:
    service = SERVICES[name]
    assert service["read_only"] is True
    assert service["cap_drop"] == ["ALL"]
    assert service["security_opt"] == ["no-new-privileges:true"]


def test_only_those_who_talk_to_the_cluster_are_given_its_credentials() -> None:
    given = {name for name, service in SERVICES.items() if "kubeconfig" in service.get("secrets", [])}
    told = {name for name, service in SERVICES.items() if "TURNO_CLUSTER_CONNECTIONS" in service.get("environment", {})}
    assert given == told == {"worker", "watch", "logs"}


def test_secrets_come_from_files_that_are_not_in_the_repository() -> None:
    values = [str(value) for service in SERVICES.values() for value in service.get("environment", {}).values()]
    names = [name for service in SERVICES.values() for name in service.get("environment", {})]
    secret = [name for name in names if re.search("PASSWORD|SECRET|TOKEN|DATABASE_URL", name)]
    assert secret
    assert [name for name in secret if not name.endswith("_FILE")] == []
    assert [value for value in values if re.search(r"://[^/]*:[^/]*@", value)] == []
    for entry in FILE["secrets"].values():
        assert entry["file"].startswith("deploy/compose/secrets/")
    assert [path.name for path in (ROOT / "deploy" / "compose" / "secrets").iterdir()] == [".gitignore"]


def test_only_web_is_reachable_and_from_this_machine_only() -> None:
    assert {name: service["ports"] for name, service in SERVICES.items() if "ports" in service} == {
        "web": ["127.0.0.1:8000:8000"]
    }


def test_the_image_is_not_root_and_installs_from_hashes() -> None:
    assert re.findall(r"^USER (.+)$", DOCKERFILE, re.MULTILINE) == ["10001:10001"]
    assert "--require-hashes -r requirements/base.txt" in DOCKERFILE


def test_the_image_holds_the_code_and_nothing_of_the_checkout_else() -> None:
    copied = {line.split()[1] for line in DOCKERFILE.splitlines() if line.startswith("COPY ") and "--from" not in line}
    allowed = {line[1:] for line in (ROOT / ".dockerignore").read_text().splitlines() if line.startswith("!")}
    assert copied == allowed
    assert [name for name in sorted(copied) if not (ROOT / name).exists()] == []


@pytest.mark.parametrize(("service", "package"), [("postgres", "postgresql"), ("redis", "redis-server")])
def test_servers_are_of_the_major_version_that_the_suite_runs_against(service: str, package: str) -> None:
    script = (ROOT / ".ci" / "run").read_text()
    image = SERVICES[service]["image"]
    tested = re.search(rf"^# {package} (\d+)$", script, re.MULTILINE)
    assert f" {package}" in script
    assert tested
    assert re.fullmatch(rf"{service}:{tested[1]}-bookworm", image)
