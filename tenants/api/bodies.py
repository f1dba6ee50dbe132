"""Request and answer shapes of the tenants room (api.md, sections 2 to 4)."""

from __future__ import annotations

from typing import Any

from django.core.validators import RegexValidator
from django.utils.translation import gettext_lazy as _
from rest_framework import serializers

from portal.rest.serializers import Body, StrictInteger, StrictText

SLUG = RegexValidator(r"^[a-z]([a-z0-9-]{0,38}[a-z0-9])?$", _("Lowercase letters, digits and hyphens; a letter first."))
ROLES = ["viewer", "member", "manager"]
SCOPES = ["read", "write", "admin"]
LONGEST = 366 * 86_400


class TenantCreate(Body):
    slug = StrictText(max_length=40, validators=[SLUG])
    name = StrictText(max_length=100)
    cohort = StrictText(max_length=40, required=False, allow_blank=True, default="")


class TenantChange(Body):
    name = StrictText(max_length=100, required=False)
    cohort = StrictText(max_length=40, required=False, allow_blank=True)
    state = serializers.ChoiceField(["active", "suspended", "archived"], required=False)


class MemberCreate(Body):
    username = StrictText(max_length=150)
    role = serializers.ChoiceField(ROLES)


class MemberChange(Body):
    role = serializers.ChoiceField(ROLES)


class PolicyChange(Body):
    images = serializers.ListField(child=StrictText(max_length=400), max_length=200, required=False)
    default_max_duration = StrictInteger(min_value=60, max_value=LONGEST, allow_null=True, required=False)
    longest_max_duration = StrictInteger(min_value=60, max_value=LONGEST, allow_null=True, required=False)
    idle_timeout = StrictInteger(min_value=60, max_value=LONGEST, allow_null=True, required=False)
    max_live = StrictInteger(min_value=0, max_value=100_000, allow_null=True, required=False)
    egress = serializers.ChoiceField(["internet", "none"], required=False)


class TokenCreate(Body):
    name = StrictText(max_length=100)
    scopes = serializers.ListField(child=serializers.ChoiceField(SCOPES), min_length=1, max_length=3)
    expires_at = serializers.DateTimeField()
    tenant = StrictText(max_length=40, required=False)
    role = serializers.ChoiceField(ROLES, required=False)


class MyTenant(serializers.Serializer[Any]):
    slug = serializers.CharField()
    name = serializers.CharField()
    role = serializers.ChoiceField(ROLES)


class Me(serializers.Serializer[Any]):
    username = serializers.CharField()
    is_admin = serializers.BooleanField()
    tenants = MyTenant(many=True)


class TenantAnswer(serializers.Serializer[Any]):
    slug = serializers.CharField()
    name = serializers.CharField()
    state = serializers.CharField()
    cohort = serializers.CharField(allow_null=True)
    created_at = serializers.DateTimeField()


class MemberAnswer(serializers.Serializer[Any]):
    username = serializers.CharField()
    role = serializers.ChoiceField(ROLES)
    since = serializers.DateTimeField()


class PolicyAnswer(serializers.Serializer[Any]):
    images = serializers.ListField(child=serializers.CharField())
    default_max_duration = serializers.IntegerField(allow_null=True)
    longest_max_duration = serializers.IntegerField(allow_null=True)
    idle_timeout = serializers.IntegerField(allow_null=True)
    max_live = serializers.IntegerField(allow_null=True)
    egress = serializers.CharField()


class TokenAnswer(serializers.Serializer[Any]):
    id = serializers.UUIDField()
    name = serializers.CharField()
    scopes = serializers.ListField(child=serializers.CharField())
    tenant = serializers.CharField(allow_null=True)
    role = serializers.CharField(allow_null=True)
    expires_at = serializers.DateTimeField()
    last_used_at = serializers.DateTimeField(allow_null=True)


class NewTokenAnswer(TokenAnswer):
    token = serializers.CharField(allow_null=True)


class AuditAnswer(serializers.Serializer[Any]):
    id = serializers.UUIDField()
    at = serializers.DateTimeField()
    actor = serializers.JSONField()
    verb = serializers.CharField()
    target = serializers.JSONField()
    tenant = serializers.CharField(allow_null=True)
    before = serializers.DictField(allow_null=True)
    after = serializers.DictField(allow_null=True)
    request_id = serializers.CharField()
