"""The three forms: show, check while typing, send once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any
from uuid import UUID, uuid4

from django.conf import settings
from django.contrib import messages
from django.http import HttpRequest, HttpResponse, QueryDict
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_POST

from jobs import selectors, services
from jobs.web import fields, sameas
from jobs.web.again import like
from jobs.web.bound import Problem, bind, problems, typed
from jobs.web.forms import FORMS, TEAM, Form
from jobs.web.outlook import INSTEAD, Outlook, filled, outlook
from portal.kernel import feed, idempotency
from portal.kernel.actors import Person
from portal.kernel.errors import Conflict, Denied, FieldError, Invalid, NotFound
from quotas import selectors as quotas
from tenants.roles import Permission, allows
from tenants.web.visitor import person, teams

if TYPE_CHECKING:
    from tenants.models import Tenant


@dataclass(frozen=True)
class Sheet:
    """One form page in the hands of one person: what was typed and what is wrong with it."""

    actor: Person
    form: Form
    teams: Sequence[Tenant]
    key: str
    posted: QueryDict | None = None
    errors: tuple[FieldError, ...] = field(default=())

    @property
    def chosen(self) -> str:
        """The slug of the team it is for."""
        wanted = self.posted.get("tenant", "") if self.posted else ""
        return wanted or (self.teams[0].slug if self.teams else "")

    @property
    def reached(self) -> list[FieldError]:
        """The faults less those of fields that were not yet reached."""
        posted = self.posted or QueryDict()
        there = {one.name for one in self.form.fields if typed(one, posted)}
        return [error for error in self.errors if error.code != "required" or error.field in there]


@never_cache
@require_http_methods(["GET", "POST"])
def new(request: HttpRequest, kind: str) -> HttpResponse:
    """The form of one kind. Sent twice with one key, both times lead to the same workload."""
    sheet = _sheet(request, kind)
    if "like" in request.GET and request.method == "GET":
        return _looked_at(request, replace(sheet, posted=_like(request, sheet)))
    if request.method == "GET":
        return _page(request, sheet)
    if INSTEAD in request.POST:
        return _looked_at(request, replace(sheet, posted=filled(request.POST)))
    try:
        workload_id = _submit(request, sheet)
    except idempotency.Mismatch:
        messages.warning(
            request,
            _("This form was already sent, and what it asked for is in your list. Send it again to ask for one more."),
        )
        return _page(request, replace(sheet, key=str(uuid4())))
    except (Invalid, Conflict, Denied, fields.FormFault) as refusal:
        return _page(request, replace(sheet, errors=_faults(refusal)))
    return redirect(f"/workloads/{workload_id}/")


@require_POST
def check(request: HttpRequest, kind: str) -> HttpResponse:
    """What the real request would answer, and the same as curl and YAML; nothing is written."""
    sheet, told = _checked(_sheet(request, kind))
    bound = bind(sheet.form.fields, request.POST, sheet.reached, {})
    context = {
        **told,
        "form": sheet.form,
        "out_of_band": True,
        "field_errors": [{"name": one.name, "message": one.error} for one in bound],
    }
    return render(request, "jobs/_check.html", context)


def _looked_at(request: HttpRequest, sheet: Sheet) -> HttpResponse:
    """The form with another choice filled in, checked, and not sent: for one click, and for those without scripts."""
    sheet, told = _checked(sheet)
    return _page(request, replace(sheet, errors=tuple(sheet.reached)), told)


def _like(request: HttpRequest, sheet: Sheet) -> QueryDict:
    """The form as it would ask for another workload once more, with the change that was clicked. NotFound."""
    try:
        row = selectors.of_kind(sheet.actor, UUID(request.GET["like"]), sheet.form.kind)
    except ValueError as error:
        raise NotFound from error
    images = [one.name for one in quotas.images(kind=sheet.form.kind)]
    values = like(sheet.form, row.request, row.tenant.slug, images)
    values[INSTEAD] = request.GET.get(INSTEAD, "")
    return filled(values)


def _checked(sheet: Sheet) -> tuple[Sheet, dict[str, Any]]:
    """The sheet with its faults, and what the panel beside it shows."""
    told: dict[str, Any] = {"checked": True}
    try:
        dry = services.preview(sheet.actor, kind=sheet.form.kind, data=_body(sheet))
        told |= {"valid": True, "yaml": sameas.as_yaml(dry.manifests)}
        told |= _seen(dry.preview)
    except (Invalid, Conflict, Denied, fields.FormFault) as refusal:
        sheet = replace(sheet, errors=_faults(refusal))
        told |= _of_nameless(sheet)
    return sheet, {**told, "curl": _curl(sheet), "errors": _unsaid(sheet, told.get("outlook"))}


def _unsaid(sheet: Sheet, seen: Outlook | None) -> list[Problem]:
    """The faults for the panel, without what its answer says already."""
    sentence = seen.sentence if seen is not None else ""
    return [one for one in problems(sheet.form.labelled, sheet.errors) if one.message not in sentence]


def _seen(preview: Mapping[str, Any] | None) -> dict[str, Any]:
    """What would happen; while the cluster has not been seen yet, the panel asks again by itself."""
    return {"outlook": outlook(preview) if preview else None, "asks_again": preview is None}


def _of_nameless(sheet: Sheet) -> dict[str, Any]:
    """While only the name is missing, what would happen is known already; nothing else is shown of the stand-in.

    Asking for too much is no obstacle: that it can never run is the answer.
    """
    named = (sheet.posted or QueryDict()).get("name")
    others = {error.code for error in sheet.errors if error.field != "name"}
    if named or others - {"exceeds_maximum"} or not any(error.field == "name" for error in sheet.errors):
        return {"outlook": None}
    try:
        stand_in = f"w{uuid4().hex}"
        found = services.preview(sheet.actor, kind=sheet.form.kind, data={**_body(sheet), "name": stand_in}).preview
    except (Invalid, Conflict, Denied):
        return {"outlook": None}
    return _seen(found)


def _sheet(request: HttpRequest, kind: str) -> Sheet:
    actor = person(request)
    if kind not in FORMS:
        raise NotFound
    own = [team for team, role in teams(request) if allows(role, Permission.SUBMIT)]
    posted = request.POST if request.method == "POST" else None
    key = (posted.get("idempotency_key", "") if posted else "") or str(uuid4())
    return Sheet(actor, FORMS[kind], own, key, posted)


def _body(sheet: Sheet) -> dict[str, object]:
    return {"tenant": sheet.chosen, **fields.body(sheet.form.fields, sheet.posted or QueryDict())}


def _submit(request: HttpRequest, sheet: Sheet) -> str:
    """The id of the workload that this form made, now or the first time it was sent."""
    data = _body(sheet)
    scope = next((feed.tenant_scope(team.id) for team in sheet.teams if team.slug == sheet.chosen), feed.PLATFORM)

    def prepare() -> idempotency.Command:
        asked = services.prepared(sheet.actor, kind=sheet.form.kind, data=data)

        def command() -> idempotency.Answer:
            workload = services.accept(sheet.actor, asked)
            return idempotency.Answer(201, {"id": str(workload.id)}, object_id=workload.id)

        return command

    answer = idempotency.perform(
        sheet.actor,
        scope=scope,
        key=idempotency.check_key(sheet.key),
        fingerprint=idempotency.fingerprint("POST", request.path, data),
        prepare=prepare,
    )
    return str(answer.body["id"])


def _faults(refusal: Invalid | Conflict | Denied | fields.FormFault) -> tuple[FieldError, ...]:
    """Every refusal as faults of fields: a taken name belongs to the name, a suspended team to the team."""
    if isinstance(refusal, Invalid):
        return refusal.errors
    if isinstance(refusal, fields.FormFault):
        return (FieldError(refusal.field_name, "invalid", str(refusal.message)),)
    place = "name" if isinstance(refusal, Conflict) and "name" in refusal.code else "tenant"
    return (FieldError(place, refusal.code, str(refusal.message)),)


def _page(request: HttpRequest, sheet: Sheet, told: Mapping[str, Any] | None = None) -> HttpResponse:
    """`told`: what the check said, where this answers one."""
    images = quotas.images(kind=sheet.form.kind)
    options: dict[str, Sequence[Any]] = {
        "flavor": _flavors(sheet),
        "image": images,
        "priority": quotas.priority_choices(),
    }
    bound = bind(sheet.form.fields, sheet.posted, sheet.errors, options)
    more = [one for one in bound if one.field.more]
    context = {
        "form": sheet.form,
        "forms": FORMS.values(),
        "tenants": sheet.teams,
        "chosen_tenant": sheet.chosen,
        "tenant_error": " ".join(str(error.message) for error in sheet.errors if error.field == TEAM.name),
        "idempotency_key": sheet.key,
        "main": [one for one in bound if not one.field.more],
        "more": more,
        "more_open": any(one.error or any(row.error for row in one.rows) for one in more),
        "errors": problems(sheet.form.labelled, sheet.errors),
        "curl": _curl(sheet),
        **(told or {}),
    }
    return render(request, "jobs/new.html", context, status=422 if sheet.errors and told is None else 200)


def _flavors(sheet: Sheet) -> list[quotas.FlavorView]:
    """What one of the teams could ever get; a choice that can only be refused is none."""
    maxima = quotas.maxima_of(sheet.teams, quotas.live_flavors())
    possible = {key for found in maxima.values() for key, most in found.items() if most}
    views = [view for view in quotas.flavors(sheet.actor) if view.mode == "none" or view.id in possible]
    return sorted(views, key=lambda view: view.mode == "none")


def _curl(sheet: Sheet) -> str:
    try:
        body = _body(sheet) if sheet.posted else {"tenant": sheet.chosen}
    except fields.FormFault:
        return ""
    return sameas.curl(f"{settings.PUBLIC_URL}/api/v1/{sheet.form.path}/", body, f"{sheet.key}-curl")
