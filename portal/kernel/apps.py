from django.apps import AppConfig


class KernelConfig(AppConfig):
    name = "portal.kernel"
    label = "kernel"
