"""Django's admin for the tenants room, for repairs: every change goes through a service, administrators only."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django import forms
from django.contrib import admin, messages
from django.core.exceptions import NON_FIELD_ERRORS, ValidationError
from django.db.models import Model
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect

from portal.kernel.actors import Person
from portal.kernel.errors import FieldError, Invalid, PortalError
from tenants import services
from tenants.authentication import person
from tenants.models import Membership, Policy, Tenant, TenantSpace, Token, User

if TYPE_CHECKING:  # Django's own classes take no parameters at run time
    _ModelAdmin = admin.ModelAdmin[Any]
    _ModelForm = forms.ModelForm[Any]
else:
    _ModelAdmin = admin.ModelAdmin
    _ModelForm = forms.ModelForm


class ServiceForm(_ModelForm):
    """Reads each field as its type. What is unique and what the table allows, the service judges in better words."""

    def _get_validation_exclusions(self) -> set[str]:
        return {field.name for field in self._meta.model._meta.fields}


class ServiceAdmin(_ModelAdmin):
    """Saving and deleting call a service; what it refuses is shown at its field, with everything typed still there.

    `keys` name the row and are typed only once.
    """

    form = ServiceForm
    keys: tuple[str, ...] = ()
    actions = None
    may_add = may_change = may_delete = True

    def put(self, actor: Person, row: Any, form: forms.ModelForm[Any]) -> Model | None:
        """One service call; the row it made, or None where it changed one."""
        raise PermissionError(type(self).__name__)

    def remove(self, actor: Person, row: Any) -> None:
        """One service call."""
        raise PermissionError(type(self).__name__)

    def save_model(self, request: HttpRequest, obj: Any, form: forms.ModelForm[Any], change: Any) -> None:
        made = self.put(person(request.user), obj, form)
        if made is not None:
            obj.pk = made.pk

    def delete_model(self, request: HttpRequest, obj: Any) -> None:
        self.remove(person(request.user), obj)

    def changeform_view(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        try:
            return super().changeform_view(request, *args, **kwargs)
        except PortalError as refusal:
            request.refusal = refusal  # type: ignore[attr-defined]
            return super().changeform_view(request, *args, **kwargs)

    def delete_view(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        try:
            return super().delete_view(request, *args, **kwargs)
        except PortalError as refusal:
            self.message_user(request, str(refusal.message), messages.ERROR)
            return HttpResponseRedirect(request.path)

    def get_form(self, request: HttpRequest, obj: Any = None, change: Any = False, **kwargs: Any) -> Any:
        form = super().get_form(request, obj, change, **kwargs)
        refusal = getattr(request, "refusal", None)
        return form if refusal is None else _refused(form, refusal)

    def get_readonly_fields(self, request: HttpRequest, obj: Any = None) -> Any:
        told = tuple(super().get_readonly_fields(request, obj))
        return told if obj is None else (*self.keys, *told)

    def has_module_permission(self, request: HttpRequest) -> bool:
        return _is_administrator(request)

    def has_view_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return _is_administrator(request)

    def has_add_permission(self, request: HttpRequest) -> bool:
        return self.may_add and _is_administrator(request)

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return self.may_change and _is_administrator(request)

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return self.may_delete and _is_administrator(request)


def _is_administrator(request: HttpRequest) -> bool:
    user = request.user
    return isinstance(user, User) and user.is_active and user.is_superuser


def _refused(form: type[forms.ModelForm[Any]], refusal: PortalError) -> type[forms.ModelForm[Any]]:
    """The same form, which now says what the service said."""
    errors = refusal.errors if isinstance(refusal, Invalid) else (FieldError("", refusal.code, str(refusal.message)),)

    class Refused(form):  # type: ignore[valid-type, misc]
        def clean(self) -> Any:
            super().clean()
            for error in errors:
                known = error.field in self.fields
                text = error.message if known or not error.field else f"{error.field}: {error.message}"
                self.add_error(error.field if known else NON_FIELD_ERRORS, ValidationError(text, code=error.code))
            return self.cleaned_data

    return Refused


class AccountForm(ServiceForm):
    """The password is written only, and only by typing a new one."""

    new_password = forms.CharField(required=False, widget=forms.PasswordInput, strip=False)

    class Meta:
        model = User
        fields = ("username", "is_superuser", "is_active", "language")


@admin.register(User)
class UserAdmin(ServiceAdmin):
    form = AccountForm
    keys = ("username", "is_superuser", "language")
    list_display = ("username", "is_superuser", "is_active", "last_login")
    search_fields = ("username",)
    may_delete = False

    def put(self, actor: Person, row: User, form: forms.ModelForm[User]) -> Model | None:
        password = form.cleaned_data["new_password"]
        if row._state.adding:
            return services.create_user(
                actor, username=row.username, password=password, is_admin=row.is_superuser, language=row.language
            )
        services.change_user(actor, username=row.username, active=row.is_active, password=password or None)
        return None


@admin.register(Tenant)
class TenantAdmin(ServiceAdmin):
    fields = ("slug", "name", "cohort", "state", "created_at")
    readonly_fields = ("created_at",)
    keys = ("slug",)
    list_display = ("slug", "name", "cohort", "state")
    list_filter = ("state", "cohort")
    search_fields = ("slug", "name")
    may_delete = False

    def put(self, actor: Person, row: Tenant, form: forms.ModelForm[Tenant]) -> Model | None:
        if row._state.adding:
            return services.create_tenant(actor, slug=row.slug, name=row.name, cohort=row.cohort)
        services.change_tenant(actor, slug=row.slug, name=row.name, cohort=row.cohort, state=row.state)
        return None


@admin.register(Membership)
class MembershipAdmin(ServiceAdmin):
    fields = ("tenant", "user", "role", "since")
    readonly_fields = ("since",)
    keys = ("tenant", "user")
    list_display = ("tenant", "user", "role", "since")
    list_filter = ("tenant", "role")
    list_select_related = ("tenant", "user")

    def put(self, actor: Person, row: Membership, form: forms.ModelForm[Membership]) -> Model | None:
        who = {"slug": row.tenant.slug, "username": row.user.username, "role": row.role}
        return services.add_member(actor, **who) if row._state.adding else services.change_role(actor, **who)

    def remove(self, actor: Person, row: Membership) -> None:
        services.remove_member(actor, slug=row.tenant.slug, username=row.user.username)


class PolicyAdmin(ServiceAdmin):
    """Registered by the room above, which knows the image catalogue."""

    table = Policy
    keys = ("tenant",)
    list_display = ("tenant", "max_live", "longest_max_duration", "egress")
    list_select_related = ("tenant",)
    may_add = may_delete = False

    def put(self, actor: Person, row: Policy, form: forms.ModelForm[Policy]) -> Model | None:
        return self.change(actor, row.tenant.slug, {field: form.cleaned_data[field] for field in form.changed_data})

    def change(self, actor: Person, slug: str, changes: dict[str, Any]) -> Model | None:
        """One service call."""
        return services.change_policy(actor, slug=slug, changes=changes)


@admin.register(Token)
class TokenAdmin(ServiceAdmin):
    """Revoking is what deleting means here: the row stays for the audit log."""

    fields = ("name", "user", "tenant", "role", "scopes", "created_at", "expires_at", "last_used_at", "revoked_at")
    list_display = ("name", "user", "tenant", "role", "expires_at", "last_used_at", "revoked_at")
    list_select_related = ("user", "tenant")
    may_add = may_change = False

    def remove(self, actor: Person, row: Token) -> None:
        services.revoke_token(actor, token_id=row.pk)


@admin.register(TenantSpace)
class TenantSpaceAdmin(ServiceAdmin):
    """What became of a team's namespace on each cluster, in the cluster's own words."""

    fields = ("tenant", "cluster", "namespace", "ready", "problem", "synced_at")
    list_display = ("namespace", "tenant", "cluster", "ready", "problem", "synced_at")
    list_filter = ("cluster", "ready")
    list_select_related = ("tenant", "cluster")
    may_add = may_change = may_delete = False
