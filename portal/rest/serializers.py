"""Request bodies: unknown fields are refused, types are not coerced."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.utils.translation import gettext_lazy as _
from rest_framework import serializers

from portal.kernel.errors import FieldError, Invalid


class StrictText(serializers.CharField):
    """Text only: a number or a boolean is not text."""

    def to_internal_value(self, data: Any) -> str:
        if not isinstance(data, str):
            self.fail("invalid")
        return super().to_internal_value(data)


class StrictInteger(serializers.IntegerField):
    """A whole number as a JSON number; text, booleans and fractions are refused."""

    def to_internal_value(self, data: Any) -> int:
        if isinstance(data, bool) or not isinstance(data, int):
            self.fail("invalid")
        return super().to_internal_value(data)


class Body(serializers.Serializer[Any]):
    """Base of every request body."""

    def to_internal_value(self, data: Any) -> Any:
        if not isinstance(data, Mapping):
            raise Invalid.field("body", _("The body must be a JSON object."))
        unknown = [key for key in data if key not in self.fields]
        if unknown:
            message = str(_("There is no such field."))
            raise Invalid([FieldError(str(key)[:100], "unknown_field", message) for key in unknown])
        return super().to_internal_value(data)


def read(body: type[Body], data: Any, *, partial: bool = False) -> dict[str, Any]:
    """The validated values of a request; Invalid or DRF's ValidationError otherwise (both 422)."""
    serializer = body(data=data, partial=partial)
    serializer.is_valid(raise_exception=True)
    return dict(serializer.validated_data)
