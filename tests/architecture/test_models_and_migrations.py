"""Models and migrations agree, and no model opens a way around its room."""

import pytest
from django.apps import apps
from django.core.management import call_command

from tests.architecture.source import ROOMS


@pytest.mark.django_db
def test_migrations_hold_what_the_models_say() -> None:
    call_command("makemigrations", check=True, dry_run=True, verbosity=0)


def test_no_relation_can_be_followed_backwards() -> None:
    ours = [model for model in apps.get_models() if model.__module__.split(".")[0] in ROOMS]
    relations = [
        f"{model.__name__}.{field.name}"
        for model in ours
        for field in model._meta.get_fields()
        if field.is_relation and field.concrete and field.model is model and not field.remote_field.hidden
    ]
    assert ours
    assert relations == []
