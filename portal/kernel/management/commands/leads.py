"""`manage.py leads watch` ends with 0 when somebody holds an office of that kind now: for health checks."""

from __future__ import annotations

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.db.models.functions import Now

from portal.kernel.models import LeaderLease


class Command(BaseCommand):
    help = "Says whether a process of that kind leads: its lease is renewed every few seconds while it works."
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("office", choices=["watch", "logs"])

    def handle(self, *args: Any, office: str, **options: Any) -> None:
        if not LeaderLease.objects.filter(name__startswith=f"{office}:", until__gt=Now()).exists():
            raise CommandError(f"nobody leads {office}")
        self.stdout.write(f"{office} has a leader")
