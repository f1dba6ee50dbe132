"""Fills the tables up to a number of rows: `python -m tests.bench.populate COUNT`, with the site's settings.

Turno's rows are copies of the first workload and of its run, as a submit wrote them.
"""

import sys
from typing import Any

import django
from django.apps import apps
from django.db import models

from portal.kernel import ids

BATCH = 1000


def copy_of(row: models.Model, **changes: object) -> models.Model:
    """The same row again, with other values in some columns; not saved."""
    values = {field.attname: getattr(row, field.attname) for field in row._meta.concrete_fields}
    return type(row)(**{**values, **changes})


def fill_bare(count: int) -> None:
    things = apps.get_app_config("bare").get_model("Thing")
    for first in range(things._default_manager.count(), count, BATCH):
        names = range(first, min(first + BATCH, count))
        things._default_manager.bulk_create([things(team="data", name=f"fill-{number}") for number in names])


def fill_turno(count: int) -> None:
    workloads = apps.get_app_config("jobs").get_model("Workload")._default_manager
    runs = apps.get_app_config("jobs").get_model("Run")._default_manager
    template: Any = workloads.order_by("id")[0]
    run = runs.get(workload=template, number=1)
    for first in range(workloads.filter(tenant=template.tenant_id).count(), count, BATCH):
        keys = [(ids.uuid7(), number) for number in range(first, min(first + BATCH, count))]
        workloads.bulk_create([copy_of(template, id=key, name=f"fill-{number}") for key, number in keys])
        runs.bulk_create([copy_of(run, id=ids.uuid7(), workload_id=key) for key, _number in keys])


if __name__ == "__main__":
    django.setup()
    fill = fill_bare if apps.is_installed("tests.bench.bare") else fill_turno
    fill(int(sys.argv[1]))
