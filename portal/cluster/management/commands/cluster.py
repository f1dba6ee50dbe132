"""`manage.py cluster check`: what a cluster has, what is missing and what that costs; ends with 1 on a fault."""

from __future__ import annotations

from argparse import ArgumentParser
from typing import Any

from django.core.exceptions import ImproperlyConfigured
from django.core.management.base import BaseCommand, CommandError
from django.utils.translation import gettext

from portal.cluster import checkup, factory, rights
from portal.cluster.models import Cluster


class Command(BaseCommand):
    help = "Asks each cluster what it is, what it has, and whether this process may do its work there."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("action", choices=["check"])
        parser.add_argument("--cluster", help="one cluster by its name; all of them otherwise")
        parser.add_argument("--process", choices=rights.PROCESSES, default="worker", help="whose rights are looked at")

    def handle(self, *args: Any, cluster: str | None, process: str, **options: Any) -> None:
        rows = Cluster.objects.filter(**({"name": cluster} if cluster else {})).order_by("name")
        if not rows:
            raise CommandError(gettext("There is no cluster of that name."))
        faults = sum(self._one(row, process) for row in rows)
        if faults:
            raise CommandError(gettext("%(count)s faults") % {"count": faults})

    def _one(self, cluster: Cluster, process: str) -> int:
        """How many faults it has."""
        try:
            door = factory.inspector(cluster)
        except ImproperlyConfigured as missing:
            raise CommandError(str(missing)) from missing
        found = checkup.check(cluster, door, process)
        self.stdout.write(cluster.name)
        for one in found:
            self.stdout.write(f"  {one.level:<8} {one.text()}")
        return sum(one.level is checkup.Level.FAULT for one in found)
