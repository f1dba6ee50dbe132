"""Users, teams, memberships, tokens, and the namespace a team has on each cluster."""

from __future__ import annotations

from django.contrib.auth.models import AbstractUser
from django.core.validators import RegexValidator
from django.db import models

from portal.cluster.models import Cluster
from portal.kernel import clock, ids
from tenants.roles import Role

SLUG = RegexValidator(r"^[a-z]([a-z0-9-]{0,38}[a-z0-9])?$")


class User(AbstractUser):
    """A person. `is_superuser` is the platform administrator; it gives no role in any team."""

    id = models.UUIDField(primary_key=True, default=ids.uuid7, editable=False)
    language = models.CharField(max_length=10, default="", blank=True)
    time_zone = models.CharField(max_length=64, default="", blank=True)
    date_joined = models.DateTimeField(default=clock.now, editable=False)

    class Meta:
        verbose_name = "user"


class TenantState(models.TextChoices):
    ACTIVE = "active"
    SUSPENDED = "suspended"
    ARCHIVED = "archived"


class Tenant(models.Model):
    """A team. `slug` never changes and is never used again; `cohort` names the cohort its quotas belong to."""

    id = models.UUIDField(primary_key=True, default=ids.uuid7, editable=False)
    slug = models.CharField(max_length=40, unique=True, validators=[SLUG])
    name = models.CharField(max_length=100)
    state = models.CharField(max_length=16, choices=TenantState.choices, default=TenantState.ACTIVE)
    cohort = models.CharField(max_length=40, default="", blank=True)
    created_at = models.DateTimeField(default=clock.now)

    class Meta:
        constraints = [models.CheckConstraint(condition=models.Q(state__in=TenantState.values), name="tenant_state")]

    def __str__(self) -> str:
        return self.slug


class Membership(models.Model):
    id = models.UUIDField(primary_key=True, default=ids.uuid7, editable=False)
    tenant = models.ForeignKey(Tenant, on_delete=models.CASCADE, related_name="+")
    user = models.ForeignKey(User, on_delete=models.CASCADE, related_name="+")
    role = models.CharField(max_length=16, choices=[(r.value, r.value) for r in Role])
    since = models.DateTimeField(default=clock.now)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["tenant", "user"], name="membership_once")]


class Policy(models.Model):
    """What a team's work may be. Durations in seconds; None = no limit. `images`: catalogue names, or reference
    prefixes ending in `/`; empty = the whole catalogue and no references."""

    tenant = models.OneToOneField(Tenant, primary_key=True, on_delete=models.CASCADE, related_name="+")
    images = models.JSONField(default=list, blank=True)
    default_max_duration = models.PositiveIntegerField(null=True, blank=True)
    longest_max_duration = models.PositiveIntegerField(null=True, blank=True)
    idle_timeout = models.PositiveIntegerField(null=True, blank=True)
    max_live = models.PositiveIntegerField(null=True, blank=True)
    egress = models.CharField(max_length=16, choices=[("internet", "internet"), ("none", "none")], default="internet")


class Token(models.Model):
    """An API token: only the SHA-256 of its 256-bit secret is kept.

    Personal: `user` set. Machine: `tenant` and `role` set; it belongs to the team and outlives people.
    """

    id = models.UUIDField(primary_key=True, default=ids.uuid7, editable=False)
    user = models.ForeignKey(User, null=True, on_delete=models.CASCADE, related_name="+")
    tenant = models.ForeignKey(Tenant, null=True, on_delete=models.CASCADE, related_name="+")
    role = models.CharField(max_length=16, default="", blank=True)
    name = models.CharField(max_length=100)
    digest = models.CharField(max_length=64, unique=True)
    scopes = models.JSONField(default=list)
    created_at = models.DateTimeField(default=clock.now)
    expires_at = models.DateTimeField()
    last_used_at = models.DateTimeField(null=True)
    revoked_at = models.DateTimeField(null=True)

    class Meta:
        constraints = [
            models.CheckConstraint(
                condition=models.Q(user__isnull=False, tenant__isnull=True, role="")
                | models.Q(user__isnull=True, tenant__isnull=False) & ~models.Q(role=""),
                name="token_personal_or_machine",
            )
        ]


class TenantSpace(models.Model):
    """A team's namespace on one cluster, kept true by `tenants.reconcile` (work kind `tenantspace`)."""

    id = models.UUIDField(primary_key=True, default=ids.uuid7, editable=False)
    tenant = models.ForeignKey(Tenant, on_delete=models.PROTECT, related_name="+")
    cluster = models.ForeignKey(Cluster, on_delete=models.PROTECT, related_name="+")
    namespace = models.CharField(max_length=63)
    applied = models.JSONField(default=dict, blank=True)  # "Kind/name" -> hash of the manifest last applied
    ready = models.BooleanField(default=False)
    problem = models.TextField(default="", blank=True)
    synced_at = models.DateTimeField(null=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["tenant", "cluster"], name="tenant_space_once"),
            models.UniqueConstraint(fields=["cluster", "namespace"], name="tenant_space_namespace_once"),
        ]
