"""The audit log: append-only, without foreign keys, so that it outlives what it speaks of."""

from __future__ import annotations

from django.db import models

from portal.kernel import ids


class AuditEvent(models.Model):
    """One command that somebody carried out. `before` and `after` hold changed fields only, never a secret."""

    id = models.UUIDField(primary_key=True, default=ids.uuid7, editable=False)
    at = models.DateTimeField()
    actor_type = models.CharField(max_length=16)
    actor_id = models.UUIDField(null=True)
    actor_label = models.CharField(max_length=150)
    verb = models.CharField(max_length=64)
    target_type = models.CharField(max_length=32)
    target_id = models.CharField(max_length=64)
    target_label = models.CharField(max_length=150, default="", blank=True)
    tenant_id = models.UUIDField(null=True)
    tenant_slug = models.CharField(max_length=63, default="", blank=True)
    before = models.JSONField(null=True)
    after = models.JSONField(null=True)
    request_id = models.CharField(max_length=64, default="", blank=True)

    class Meta:
        indexes = [
            models.Index(fields=["tenant_id", "-id"], name="audit_of_tenant"),
            models.Index(fields=["-at"], name="audit_newest"),
        ]
