"""`manage.py demo_data`: the four-card server, three teams and their accounts; made once, kept at every later start.

What an administrator changed in a running demo stays. Passwords and tokens stay too: they are kept in the credentials
file, which only its owner may read, and made anew only where they are missing there.
"""

from __future__ import annotations

import json
import secrets
from argparse import ArgumentParser
from datetime import date, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from django.conf import settings
from django.core.management.base import BaseCommand

from portal.kernel import clock
from portal.kernel.actors import System
from portal.kernel.errors import Unauthenticated
from portal.kernel.transaction import transaction
from quotas import selectors as quotas
from quotas import services as quota_services
from tenants import authentication, services
from tenants import selectors as tenants

ACTOR = System("demo")
CLUSTER, COHORT = "demo", "lab"
TEAMS = {"production": "Production", "data": "Data", "training": "Training"}
# By username: role and team.
PEOPLE: dict[str, tuple[str, str | None]] = {
    "admin": ("admin", None),
    "marta": ("manager", "production"),
    "diego": ("member", "production"),
    "ana": ("manager", "data"),
    "luis": ("member", "data"),
    "sofia": ("manager", "training"),
    "pablo": ("member", "training"),
    "vera": ("viewer", "data"),
}
LABELS = {"nvidia.com/gpu.product": "NVIDIA-H100-80GB-HBM3"}
# name: (mode, resource, MiB of a unit, units of a node, price of a unit-hour)
FLAVORS = {
    "h100": ("whole", "nvidia.com/gpu", 81559, 3, "2.80"),
    "h100-3g": ("mig", "nvidia.com/mig-3g.40gb", 40960, 1, "1.30"),
    "h100-1g": ("mig", "nvidia.com/mig-1g.10gb", 10240, 4, "0.40"),
}
# team, flavor: (nominal, borrowing limit, lending limit); None is no limit.
QUOTAS: dict[tuple[str, str], tuple[int, int | None, int | None]] = {
    ("production", "h100"): (1, 0, 0),
    ("production", "h100-3g"): (1, None, None),
    ("production", "h100-1g"): (2, None, None),
    ("data", "h100"): (1, 0, None),
    ("data", "h100-1g"): (1, None, None),
    ("training", "h100"): (1, 1, None),
    ("training", "h100-1g"): (1, None, None),
}
# name: (value, only managers, the default, description)
PRIORITIES = {
    "low": (10, False, False, "Runs when nobody else wants the GPU"),
    "normal": (100, False, True, "What everybody gets"),
    "high": (1000, True, False, "Deadlines; managers only"),
}
IMAGES: dict[str, dict[str, Any]] = {
    "jupyterlab": {
        "reference": "registry.turno.example/notebooks/jupyterlab:4.5",
        "kinds": ["notebook"],
        "description": "JupyterLab with Python, PyTorch and CUDA",
        "gid": 100,
        "home": "/home/jovyan",
    },
    "pytorch": {
        "reference": "registry.turno.example/training/pytorch:2.9-cuda13",
        "kinds": ["notebook", "training"],
        "description": "PyTorch with CUDA and NCCL",
        "home": "/workspace",
    },
    "vllm": {
        "reference": "registry.turno.example/serving/vllm:0.12",
        "kinds": ["endpoint"],
        "description": "vLLM's OpenAI-compatible server",
        "uid": 2000,
        "home": "/home/vllm",
        "env": {"VLLM_NO_USAGE_STATS": "1"},
    },
    "python": {
        "reference": "registry.turno.example/library/python:3.13-slim",
        "kinds": ["training"],
        "description": "Plain Python, for CPU work and small scripts",
        "home": "/tmp",  # noqa: S108  inside the container
    },
}
TOKEN_LIVES = timedelta(days=365)


class Command(BaseCommand):
    help = "Makes the demo's cluster, teams, quotas and accounts, and writes their passwords and tokens to a file."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "--credentials", type=Path, default=settings.DEMO_FOLDER / "credentials.json", help="the file to write"
        )

    def handle(self, *args: Any, credentials: Path, **options: Any) -> None:
        known = _read(credentials)
        with transaction():
            _make_cluster()
            users = {name: _account(name, known.get(name, {})) for name in PEOPLE}
            _make_teams()
        told = {"url": settings.PUBLIC_URL, "users": users, "cluster": {"url": settings.DEMO_CLUSTER_URL}}
        _write(credentials, told)
        self.stdout.write(f"{len(TEAMS)} teams and {len(users)} accounts; passwords and tokens are in {credentials}")


def _make_cluster() -> None:
    """Addresses follow the ports of this start; everything else is made once, beginning with the first cluster."""
    new = quotas.cluster(CLUSTER) is None
    if new:
        quota_services.settle_first(ACTOR, name=CLUSTER)
    cluster = quota_services.put_cluster(
        ACTOR,
        name=CLUSTER,
        notebook_port=urlsplit(settings.DEMO_DATA_URL).port,
        endpoint_url=settings.DEMO_DATA_URL,
        auth_filter={"group": "turno.dev", "kind": "ForwardAuth", "name": "turno"},
    )
    if not new:
        return
    quota_services.put_cohort(ACTOR, cluster=cluster, name=COHORT)
    for name, (mode, resource, memory, most, price) in FLAVORS.items():
        quota_services.put_flavor(
            ACTOR,
            name=name,
            cluster=cluster,
            mode=mode,
            resource=resource,
            card="h100-80",
            memory_mib=memory,
            max_per_node=most,
            node_labels=LABELS,
        )
        quota_services.put_price(ACTOR, flavor=name, valid_from=date(2026, 1, 1), price_hour=Decimal(price))
    for name, (value, managers_only, is_default, description) in PRIORITIES.items():
        quota_services.put_priority(
            ACTOR,
            cluster=cluster,
            name=name,
            value=value,
            managers_only=managers_only,
            is_default=is_default,
            description=description,
        )
    for name, fields in IMAGES.items():
        quota_services.put_image(ACTOR, name=name, **fields)


def _make_teams() -> None:
    for slug, name in TEAMS.items():
        if tenants.by_slug(slug) is not None:
            continue
        services.create_tenant(ACTOR, slug=slug, name=name, cohort=COHORT)
        for username, (role, team) in PEOPLE.items():
            if team == slug:
                services.add_member(ACTOR, slug=slug, username=username, role=role)
        for (owner, flavor), (nominal, borrowing, lending) in QUOTAS.items():
            if owner == slug:
                quota_services.put_quota(
                    ACTOR,
                    tenant=slug,
                    flavor=flavor,
                    nominal=nominal,
                    borrowing_limit=borrowing,
                    lending_limit=lending,
                )


def _account(username: str, known: dict[str, str]) -> dict[str, str | None]:
    """One line of the credentials file, and the account behind it."""
    role, team = PEOPLE[username]
    password = known.get("password") or secrets.token_urlsafe(12)
    if not tenants.has_account(ACTOR, username):
        services.create_user(ACTOR, username=username, password=password, is_admin=role == "admin")
    elif "password" not in known:
        services.change_user(ACTOR, username=username, password=password)
    token = known.get("token", "")
    if not _works(token):
        scopes = ["read", "write", "admin"] if role == "admin" else ["read", "write"]
        ends = clock.now() + TOKEN_LIVES
        _row, token = services.issue_personal_token(
            ACTOR, username=username, name="demo", scopes=scopes, expires_at=ends
        )
    return {"password": password, "token": token, "role": role, "tenant": team}


def _works(token: str) -> bool:
    """Whether the token of an earlier start still opens the door."""
    try:
        authentication.authenticate(token, clock.now())
    except Unauthenticated:
        return False
    return True


def _read(credentials: Path) -> dict[str, dict[str, str]]:
    """What an earlier start wrote; nothing where the file is missing or is not ours any more."""
    try:
        users = json.loads(credentials.read_text())["users"]
    except (OSError, ValueError, KeyError, TypeError):
        return {}
    return users if isinstance(users, dict) else {}


def _write(credentials: Path, told: dict[str, Any]) -> None:
    """In one step, and never readable by others, not even for a moment."""
    credentials.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    fresh = credentials.with_suffix(".new")
    fresh.unlink(missing_ok=True)
    fresh.touch(mode=0o600)
    fresh.write_text(json.dumps(told, indent=2) + "\n")
    fresh.replace(credentials)
