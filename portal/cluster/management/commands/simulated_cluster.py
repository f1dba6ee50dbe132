"""`manage.py simulated_cluster`: the cluster of the demo, a server of its own."""

from __future__ import annotations

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.conf import settings as django_settings
from django.core.management.base import BaseCommand, CommandError

from portal.cluster.simulated import server


class Command(BaseCommand):
    help = "Serve a simulated Kubernetes cluster with Kueue on the loopback address."
    requires_system_checks = ()
    requires_migrations_checks = False

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--port", type=int, required=True, help="of the Kubernetes API")
        parser.add_argument("--data-port", type=int, required=True, help="of the data plane")
        parser.add_argument("--control-port", type=int, required=True, help="of the control endpoint")
        parser.add_argument("--portal-url", help="whom the data plane asks; the public address unless given")
        parser.add_argument("--state", type=Path, help="the file that keeps the objects over a restart")
        parser.add_argument("--speed", type=float, default=1.0, help="how much faster than real delays pass")

    def handle(self, *_: str, **options: Any) -> None:
        settings = server.Settings(
            port=options["port"],
            data_port=options["data_port"],
            control_port=options["control_port"],
            portal_url=options["portal_url"] or django_settings.PUBLIC_URL,
            state=options["state"],
            speed=options["speed"],
        )
        try:
            server.run(settings)
        except (OSError, ValueError) as error:
            raise CommandError(str(error)) from error
