"""Django's admin for the jobs room: what is on a cluster with our labels and no row explains. To look at only."""

from __future__ import annotations

from typing import Any

from django.contrib import admin
from django.utils.translation import gettext

from jobs.models import UnknownObject
from tenants.admin import ServiceAdmin


@admin.register(UnknownObject)
class UnknownObjectAdmin(ServiceAdmin):
    list_display = ("kind", "namespace", "name", "cluster", "cause", "seen_at")
    list_filter = ("kind", "cluster")
    list_select_related = ("cluster",)
    search_fields = ("name", "namespace")
    ordering = ("-seen_at",)
    may_add = may_change = may_delete = False

    @admin.display(description="why")
    def cause(self, row: Any) -> str:
        return gettext(row.why)
