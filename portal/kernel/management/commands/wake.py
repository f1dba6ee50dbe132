"""`manage.py wake KIND ID`: somebody shall look at this object again, also where its passes had been given up."""

from __future__ import annotations

from argparse import ArgumentParser
from typing import Any
from uuid import UUID

from django.core.management.base import BaseCommand, CommandError

from portal.kernel import work
from portal.kernel.transaction import transaction


class Command(BaseCommand):
    help = (
        "Makes a worker look at an object again, for example `wake workload ID`, and takes it out of the parked ones."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("kind", help="workload, tenantspace, queue, flavor, cohort or priority")
        parser.add_argument("id", type=UUID)

    def handle(self, *args: Any, **options: Any) -> None:
        if not work.is_known(options["kind"], options["id"]):
            raise CommandError(f"nothing of kind {options['kind']} with this id has ever been worked on")
        with transaction():
            work.wake(options["kind"], options["id"])
