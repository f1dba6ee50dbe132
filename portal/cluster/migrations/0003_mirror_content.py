from django.db import migrations, models

import portal.kernel.ids


class Migration(migrations.Migration):
    dependencies = [
        ("cluster", "0002_pending_order"),
    ]

    operations = [
        migrations.AddField(
            model_name="mirrorstream",
            name="content",
            field=models.UUIDField(default=portal.kernel.ids.uuid7),
        ),
    ]
