"""One cluster is there from the start: every flavor, quota, run and mirrored object has its key."""

from typing import Any

from django.db import migrations
from django.utils import timezone


def add(apps: Any, schema_editor: Any) -> None:
    """With the flavor that CPU and memory of every queue are of, which a worker puts on the cluster."""
    clusters = apps.get_model("cluster", "Cluster").objects
    if clusters.exists():
        return
    flavor = apps.get_model("quotas", "Flavor").objects.create(
        cluster=clusters.create(name="default"), name="cpu", mode="none"
    )
    apps.get_model("kernel", "Work").objects.create(
        kind="flavor", object_id=flavor.pk, wanted_seq=1, due_at=timezone.now()
    )


class Migration(migrations.Migration):
    dependencies = [
        ("cluster", "0001_initial"),
        ("kernel", "0001_initial"),
        ("quotas", "0006_disagreements"),
    ]

    operations = [migrations.RunPython(add, migrations.RunPython.noop)]
