"""Answer shapes of the quotas room (api.md, section 4)."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers


class FlavorAnswer(serializers.Serializer[Any]):
    name = serializers.CharField()
    cluster = serializers.CharField()
    mode = serializers.ChoiceField(["whole", "mig", "shared", "claim", "none"])
    card = serializers.CharField(allow_blank=True)
    resource = serializers.CharField(allow_null=True)
    memory_mib = serializers.IntegerField()
    max_per_node = serializers.IntegerField()
    price_hour = serializers.CharField(allow_null=True)
    capacity = serializers.IntegerField(allow_null=True, help_text="units on nodes that are ready and take work")
    unavailable = serializers.IntegerField(
        allow_null=True, help_text="units that are built in too, but whose node or card is out of order now"
    )
    free = serializers.IntegerField(allow_null=True)
    as_of = serializers.DateTimeField(allow_null=True)


class ImageAnswer(serializers.Serializer[Any]):
    name = serializers.CharField()
    reference = serializers.CharField()
    kinds = serializers.ListField(child=serializers.CharField())
    description = serializers.CharField()


class QuotaCellAnswer(serializers.Serializer[Any]):
    cluster = serializers.CharField()
    flavor = serializers.CharField()
    resource = serializers.CharField()
    nominal = serializers.IntegerField()
    borrowing_limit = serializers.IntegerField(allow_null=True)
    lending_limit = serializers.IntegerField(allow_null=True)
    held = serializers.IntegerField(allow_null=True)
    borrowed = serializers.IntegerField(allow_null=True)
    lent = serializers.IntegerField(allow_null=True)
    as_of = serializers.DateTimeField(allow_null=True)
