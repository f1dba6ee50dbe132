"""Derived keys and the addresses of workloads: what a person needs to reach one."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from django.conf import settings
from django.utils.translation import gettext_lazy as _

from jobs.manifests import names, secrets
from jobs.models import RunObject, Workload
from jobs.selectors.workloads import may, workload
from portal.kernel.actors import Actor
from portal.kernel.errors import Conflict, Denied


def key(actor: Actor, workload_id: UUID) -> dict[str, Any]:
    """The key that the endpoint takes now (before its first run: will take), for its owner and the team's managers."""
    row = workload(actor, workload_id)
    if not may(actor, row).read_key:
        raise Denied(_("The key is for the endpoint's owner and the team's managers."))
    return shown(row, in_use(row) or next_key(row))


def next_key(row: Workload) -> secrets.Derived:
    """What the next run will take."""
    return secrets.Derived(row.kind, row.key_id, row.key_rotation)


def in_use(row: Workload) -> secrets.Derived | None:
    """What the newest run was rendered with; None before that."""
    stored = RunObject.objects.filter(workload=row, run__number=row.run_number, kind="Secret")
    for manifest in stored.values_list("manifest", flat=True):
        for value in manifest.get("data", {}).values():
            if (derived := secrets.read_marker(value)) is not None:
                return derived
    return None


def shown(row: Workload, derived: secrets.Derived) -> dict[str, Any]:
    """`{key, rotation}`. Conflict where the server key was taken out of the settings too early."""
    try:
        plain = secrets.token(derived, row.pk, settings.TOKEN_KEYS)
    except secrets.KeyMissing as missing:
        message = _("The server key “%(name)s” is no longer configured.") % {"name": missing.args[0]}
        raise Conflict(message, code="key_missing") from missing
    return {"key": plain, "rotation": derived.rotation}


def notebook_host(row: Workload) -> str:
    """The host (with the port where there is one) at which a browser reaches this notebook and no other."""
    port = f":{row.cluster.notebook_port}" if row.cluster.notebook_port else ""
    return f"{names.notebook_host(row.name, row.pk, row.cluster.notebook_domain)}{port}"
