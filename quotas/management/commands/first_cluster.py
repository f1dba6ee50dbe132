"""`manage.py first_cluster`: what TURNO_CLUSTER says of the cluster that is there from the first migration.

Run after `migrate`. Once a team has a space on it, its names are on the cluster and administrators change the rest.
"""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError

from portal.kernel.actors import System
from portal.kernel.errors import Invalid
from quotas import services

TEXTS = (
    "connection",
    "instance",
    "prefix",
    "gateway_name",
    "gateway_namespace",
    "notebook_domain",
    "notebook_scheme",
    "endpoint_url",
    "portal_namespace",
    "storage_class",
)
NUMBERS = ("notebook_port", "max_stream_s")


class Command(BaseCommand):
    help = "Names and configures the first cluster from TURNO_CLUSTER, while no team uses it yet."

    def handle(self, *args: Any, **options: Any) -> None:
        given = dict(settings.FIRST_CLUSTER)
        if not given:
            return
        name = given.pop("name", services.FIRST)
        try:
            row = services.settle_first(System(), name=name, **{key: _value(key, text) for key, text in given.items()})
        except Invalid as refusal:
            faults = "; ".join(f"{fault.field}: {fault.message}" for fault in refusal.errors)
            raise CommandError(f"TURNO_CLUSTER: {faults}") from refusal
        self.stdout.write(f"the first cluster is {row.name}" if row else "the first cluster is in use: left as it is")


def _value(key: str, text: str) -> Any:
    if key in TEXTS:
        return text
    if key in NUMBERS and text.isascii() and text.isdigit():
        return int(text)
    parts = text.split("/")
    if key == "auth_filter" and len(parts) == 3 and all(parts):
        return dict(zip(("group", "kind", "name"), parts, strict=True))
    known = ", ".join(("name", *TEXTS, *NUMBERS))
    raise CommandError(f"TURNO_CLUSTER: {key}={text!r} is none of {known}, auth_filter=group/Kind/name")
