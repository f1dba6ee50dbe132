"""The app of the bare site."""

from django.apps import AppConfig


class BareConfig(AppConfig):
    name = "tests.bench.bare"
    label = "bare"
