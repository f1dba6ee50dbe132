"""Django's admin for the quotas room: clusters, flavors, cohorts, quotas, priorities, images, and teams' policies."""

from __future__ import annotations

from typing import Any

from django import forms
from django.contrib import admin
from django.db.models import Model

from portal.cluster.models import Cluster
from portal.kernel.actors import Person
from quotas import services
from quotas.models import Allocation, Cohort, Flavor, FlavorPrice, Image, PriorityClass, Queue, Quota
from tenants.admin import PolicyAdmin, ServiceAdmin

TOLD = ("problem", "synced_at")


def typed(form: forms.ModelForm[Any], *but: str) -> dict[str, Any]:
    """What the form holds, without the row's keys."""
    return {field: value for field, value in form.cleaned_data.items() if field not in but}


@admin.register(Cluster)
class ClusterAdmin(ServiceAdmin):
    keys = ("name", "prefix", "instance")
    exclude = ("capabilities", "unreachable_since", "unreachable_reason", "created_at")
    list_display = ("name", "connection", "prefix", "unreachable_since", "unreachable_reason")
    may_delete = False

    def put(self, actor: Person, row: Cluster, form: forms.ModelForm[Cluster]) -> Model | None:
        return services.put_cluster(actor, name=row.name, **typed(form, "name"))


@admin.register(Flavor)
class FlavorAdmin(ServiceAdmin):
    keys = ("name", "cluster", "mode", "resource")
    exclude = ("applied", "deleting")
    readonly_fields = TOLD
    list_display = ("name", "cluster", "mode", "card", "resource", "active", "deleting", "problem")
    list_select_related = ("cluster",)

    def put(self, actor: Person, row: Flavor, form: forms.ModelForm[Flavor]) -> Model | None:
        return services.put_flavor(actor, name=row.name, cluster=row.cluster, **typed(form, "name", "cluster"))

    def remove(self, actor: Person, row: Flavor) -> None:
        services.delete_flavor(actor, name=row.name)


@admin.register(FlavorPrice)
class FlavorPriceAdmin(ServiceAdmin):
    keys = ("flavor", "valid_from")
    list_display = ("flavor", "valid_from", "price_hour")
    list_select_related = ("flavor",)
    may_delete = False

    def put(self, actor: Person, row: FlavorPrice, form: forms.ModelForm[FlavorPrice]) -> Model | None:
        return services.put_price(actor, flavor=row.flavor.name, valid_from=row.valid_from, price_hour=row.price_hour)


@admin.register(Cohort)
class CohortAdmin(ServiceAdmin):
    keys = ("cluster", "name")
    exclude = ("applied", "deleting")
    readonly_fields = TOLD
    list_display = ("name", "cluster", "parent", "show_teams", "deleting", "problem")
    list_select_related = ("cluster", "parent")

    def put(self, actor: Person, row: Cohort, form: forms.ModelForm[Cohort]) -> Model | None:
        parent = row.parent.name if row.parent else None
        return services.put_cohort(actor, cluster=row.cluster, name=row.name, parent=parent, show_teams=row.show_teams)

    def remove(self, actor: Person, row: Cohort) -> None:
        services.delete_cohort(actor, cluster=row.cluster, name=row.name)


@admin.register(Quota)
class QuotaAdmin(ServiceAdmin):
    """Cluster and resource are the flavor's."""

    fields = ("tenant", "flavor", "nominal", "borrowing_limit", "lending_limit")
    keys = ("tenant", "flavor")
    list_display = ("tenant", "flavor", "resource", "nominal", "borrowing_limit", "lending_limit")
    list_filter = ("tenant", "flavor")
    list_select_related = ("tenant", "flavor")

    def put(self, actor: Person, row: Quota, form: forms.ModelForm[Quota]) -> Model | None:
        limits = typed(form, "tenant", "flavor")
        return services.put_quota(actor, tenant=row.tenant.slug, flavor=row.flavor.name, **limits)

    def remove(self, actor: Person, row: Quota) -> None:
        services.delete_quota(actor, tenant=row.tenant.slug, flavor=row.flavor.name)


@admin.register(Queue)
class QueueAdmin(ServiceAdmin):
    keys = ("tenant", "cluster")
    exclude = ("applied",)
    readonly_fields = ("active", *TOLD)
    list_display = ("tenant", "cluster", "cpu", "memory", "active", "problem", "synced_at")
    list_select_related = ("tenant", "cluster")
    may_add = may_delete = False

    def put(self, actor: Person, row: Queue, form: forms.ModelForm[Queue]) -> Model | None:
        return services.put_queue(actor, tenant=row.tenant.slug, cluster=row.cluster, **typed(form))


@admin.register(PriorityClass)
class PriorityClassAdmin(ServiceAdmin):
    keys = ("cluster", "name")
    exclude = ("applied", "deleting")
    readonly_fields = TOLD
    list_display = ("name", "cluster", "value", "managers_only", "is_default", "deleting", "problem")
    list_select_related = ("cluster",)

    def put(self, actor: Person, row: PriorityClass, form: forms.ModelForm[PriorityClass]) -> Model | None:
        return services.put_priority(actor, cluster=row.cluster, name=row.name, **typed(form, "cluster", "name"))

    def remove(self, actor: Person, row: PriorityClass) -> None:
        services.delete_priority(actor, cluster=row.cluster, name=row.name)


@admin.register(Image)
class ImageAdmin(ServiceAdmin):
    keys = ("name",)
    list_display = ("name", "reference", "kinds", "active")

    def put(self, actor: Person, row: Image, form: forms.ModelForm[Image]) -> Model | None:
        return services.put_image(actor, name=row.name, **typed(form, "name"))

    def remove(self, actor: Person, row: Image) -> None:
        services.delete_image(actor, name=row.name)


@admin.register(Allocation)
class AllocationAdmin(ServiceAdmin):
    """The ledger's intervals, to read."""

    list_display = ("tenant_slug", "flavor", "units", "admitted_at", "released_at", "why")
    list_filter = ("tenant_slug", "flavor")
    may_add = may_change = may_delete = False


@admin.register(PolicyAdmin.table)
class CheckedPolicyAdmin(PolicyAdmin):
    """The policy's images are held against the catalogue."""

    def change(self, actor: Person, slug: str, changes: dict[str, Any]) -> Model | None:
        return services.change_policy(actor, slug=slug, changes=changes)
