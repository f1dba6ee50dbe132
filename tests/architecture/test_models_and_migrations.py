"""Models and migrations agree, and no model opens a way around its room."""

import pytest
from django.apps import apps
from django.core.management import call_command
from django.db.models import Model

from tests.architecture.source import ROOMS


@pytest.mark.django_db
def test_migrations_hold_what_the_models_say() -> None:
    call_command("makemigrations", check=True, dry_run=True, verbosity=0)


def is_ours(model: type[Model]) -> bool:
    return model.__module__.split(".")[0] in ROOMS


def test_no_relation_can_be_followed_backwards() -> None:
    relations = [
        (f"{model.__name__}.{field.name}", field.remote_field.hidden)
        for model in filter(is_ours, apps.get_models())
        for field in (*model._meta.fields, *model._meta.many_to_many)
        if field.remote_field and is_ours(field.remote_field.model)
    ]
    assert relations
    assert [name for name, hidden in relations if not hidden] == []
