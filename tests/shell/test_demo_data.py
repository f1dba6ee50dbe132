"""`manage.py demo_data` makes the demo once, and keeps what is there at every later start."""

from __future__ import annotations

import json
import stat
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command
from pytest_django.fixtures import Settings

from portal.audit.models import AuditEvent
from portal.cluster.models import Cluster
from portal.kernel import clock
from portal.kernel.actors import Machine, Person, System
from portal.kernel.models import Work
from quotas import selectors as quotas
from quotas import services as quota_services
from quotas.models import Flavor, Quota
from tenants import authentication, policies, services
from tenants.models import Membership, Tenant, TenantSpace, Token, User
from tenants.roles import Permission

pytestmark = pytest.mark.django_db


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "demo" / "credentials.json"


def make(file: Path) -> dict[str, Any]:
    call_command("demo_data", credentials=file, verbosity=0)
    told: dict[str, Any] = json.loads(file.read_text())
    return told


def actor(told: dict[str, Any], name: str) -> Person | Machine:
    return authentication.authenticate(told["users"][name]["token"], clock.now())


def test_the_accounts_are_told_with_password_token_role_and_team(file: Path, settings: Settings) -> None:
    told = make(file)
    assert told["url"] == settings.PUBLIC_URL
    assert told["cluster"] == {"url": settings.DEMO_CLUSTER_URL}
    assert {name: (user["role"], user["tenant"]) for name, user in told["users"].items()} == {
        "admin": ("admin", None),
        "marta": ("manager", "production"),
        "diego": ("member", "production"),
        "ana": ("manager", "data"),
        "luis": ("member", "data"),
        "sofia": ("manager", "training"),
        "pablo": ("member", "training"),
        "vera": ("viewer", "data"),
    }


def test_tokens_and_passwords_work(file: Path) -> None:
    told = make(file)
    for name, user in told["users"].items():
        assert User.objects.get(username=name).check_password(user["password"])
        who = actor(told, name)
        assert who.label == name
        if user["tenant"]:
            team = Tenant.objects.get(slug=user["tenant"])
            assert policies.role_of(who, team.pk) == user["role"]
    assert policies.is_administrator(actor(told, "admin"))
    assert not policies.is_administrator(actor(told, "marta"))


def test_only_the_owner_may_read_the_file(file: Path) -> None:
    make(file)
    assert stat.S_IMODE(file.stat().st_mode) == 0o600


def test_the_server_and_who_owns_what(file: Path) -> None:
    make(file)
    flavors = Flavor.objects.order_by("name").values_list("name", "resource", "max_per_node")
    assert list(flavors) == [
        ("cpu", "", 0),
        ("h100", "nvidia.com/gpu", 3),
        ("h100-1g", "nvidia.com/mig-1g.10gb", 4),
        ("h100-3g", "nvidia.com/mig-3g.40gb", 1),
    ]
    cells = Quota.objects.order_by("tenant__slug", "flavor__name")
    rows = cells.values_list("tenant__slug", "flavor__name", "nominal", "borrowing_limit", "lending_limit")
    assert list(rows) == [
        ("data", "h100", 1, 0, None),
        ("data", "h100-1g", 1, None, None),
        ("production", "h100", 1, 0, 0),
        ("production", "h100-1g", 2, None, None),
        ("production", "h100-3g", 1, None, None),
        ("training", "h100", 1, 1, None),
        ("training", "h100-1g", 1, None, None),
    ]


def test_what_each_team_could_hold_at_most(file: Path) -> None:
    make(file)
    found = {
        team.slug: {row.name: quotas.maximum(team, row) for row in Flavor.objects.exclude(mode="none")}
        for team in Tenant.objects.all()
    }
    assert found == {
        "data": {"h100": 1, "h100-1g": 4, "h100-3g": 0},
        "production": {"h100": 1, "h100-1g": 4, "h100-3g": 1},
        "training": {"h100": 2, "h100-1g": 4, "h100-3g": 0},
    }


def test_everything_is_woken_so_that_the_cluster_gets_it(file: Path) -> None:
    make(file)
    kinds = sorted(Work.objects.values_list("kind", flat=True))
    assert kinds == sorted(["tenantspace", "queue"] * 3 + ["flavor"] * 4 + ["cohort"] + ["priority"] * 3)
    assert TenantSpace.objects.count() == 3


def test_a_second_start_changes_nothing(file: Path) -> None:
    first = make(file)
    audited = AuditEvent.objects.count()
    assert make(file) == first
    assert AuditEvent.objects.count() == audited


def test_what_was_changed_meanwhile_stays(file: Path) -> None:
    make(file)
    quota_services.put_quota(System(), tenant="data", flavor="h100", nominal=2)
    services.remove_member(System(), slug="data", username="vera")
    make(file)
    assert Quota.objects.get(tenant__slug="data", flavor__name="h100").nominal == 2
    assert not Membership.objects.filter(user__username="vera").exists()


def test_another_port_reaches_the_clusters_row(file: Path, settings: Settings) -> None:
    make(file)
    settings.DEMO_DATA_URL = "http://127.0.0.1:9302"
    make(file)
    row = Cluster.objects.get()
    assert (row.endpoint_url, row.notebook_port) == ("http://127.0.0.1:9302", 9302)


def test_a_lost_file_gets_new_passwords_and_tokens(file: Path) -> None:
    first = make(file)
    file.unlink()
    second = make(file)
    for name, user in second["users"].items():
        assert user["password"] != first["users"][name]["password"]
        assert User.objects.get(username=name).check_password(user["password"])
        assert actor(second, name).label == name


def test_a_revoked_token_is_replaced_and_a_broken_file_too(file: Path) -> None:
    told = make(file)
    Token.objects.filter(user__username="luis").update(revoked_at=clock.now())
    again = make(file)
    assert again["users"]["luis"]["token"] != told["users"]["luis"]["token"]
    assert again["users"]["ana"] == told["users"]["ana"]
    file.write_text("{")
    assert actor(make(file), "luis").label == "luis"


def test_a_members_submission_is_allowed_in_every_team(file: Path) -> None:
    told = make(file)
    for name in ("diego", "luis", "pablo", "marta", "ana", "sofia"):
        team = Tenant.objects.get(slug=told["users"][name]["tenant"])
        assert policies.can(actor(told, name), Permission.SUBMIT, team.pk)
