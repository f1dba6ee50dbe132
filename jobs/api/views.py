"""REST of the jobs room: one call deep. Every view first asks who and whether, then reads the body."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar
from uuid import UUID

import yaml
from django.http import HttpResponse
from django.utils.translation import gettext_lazy as _
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from jobs import selectors, services
from jobs.api import answers, bodies
from jobs.api.bodies import WorkloadAnswer
from jobs.api.lines import line
from jobs.states import State
from portal.kernel import feed
from portal.kernel.errors import BadRequest, Invalid
from portal.rest.access import actor_of
from portal.rest.answers import PAGE_PARAMETERS, paged, rows
from portal.rest.creating import Command, create
from portal.rest.pagination import page
from portal.rest.views import RestView
from tenants import selectors as tenants

if TYPE_CHECKING:
    from jobs.models import Workload

FILTERS = ("tenant", "project", "kind", "state", "flavor", "owner", "q")
FILTER_PARAMETERS = [OpenApiParameter(name, str) for name in FILTERS]
DRY_RUN = OpenApiParameter("dry_run", bool, description="Validates and renders; writes nothing.")
WAIT = [
    OpenApiParameter("wait", int, description="0 to 60 seconds."),
    OpenApiParameter("for", str, enum=["running", "finished"], description="What to wait for."),
]


def flag(request: Request, name: str) -> bool:
    """A boolean query parameter; BadRequest for anything but true and false."""
    given = request.query_params.get(name, "false")
    if given not in ("true", "false"):
        raise BadRequest(_("%(name)s must be true or false.") % {"name": name}, code=name)
    return given == "true"


def listed(request: Request, *, kind: str | None = None) -> Response:
    """One page of workloads, filtered as the query says."""
    given: dict[str, Any] = {name: request.query_params[name] for name in FILTERS if name in request.query_params}
    if "state" in given and given["state"] not in set(State):
        raise BadRequest(_("There is no such state."), code="state")
    if kind is not None:
        given["kind"] = kind
    elif given.get("kind", "notebook") not in ("notebook", "training", "endpoint"):
        raise BadRequest(_("There is no such kind."), code="kind")
    rows = selectors.workloads(actor_of(request), **given)
    return Response(page(request, rows, lambda found: answers.workloads(request, found)))


class WorkloadsView(RestView):
    @extend_schema(responses=paged("Workload", WorkloadAnswer), parameters=[*PAGE_PARAMETERS, *FILTER_PARAMETERS])
    def get(self, request: Request) -> Response:
        return listed(request)


class QueueView(RestView):
    """Everything that waits in the cohorts of the caller's teams; other teams' as size, priority and age only."""

    @extend_schema(responses=paged("QueueLine", bodies.QueueLineAnswer))
    def get(self, request: Request) -> Response:
        return Response(rows([line(one) for one in selectors.lines(actor_of(request), whole=True)]))


class KindView(RestView):
    """The list of one kind, and creating one."""

    kind: ClassVar[str]

    def get(self, request: Request) -> Response:
        return listed(request, kind=self.kind)

    def post(self, request: Request) -> Response:
        actor = actor_of(request)
        dry_run = flag(request, "dry_run")
        data = request.data
        if not isinstance(data, dict):
            raise Invalid.field("body", _("The body must be a JSON object."))
        if dry_run:
            return Response(answers.dry_run(services.preview(actor, kind=self.kind, data=data)))

        # The platform's scope is for requests that will be refused anyway: the caller may not see that team.
        team = tenants.belonging(actor, data.get("tenant"))

        def prepare() -> Command:
            asked = services.prepared(actor, kind=self.kind, data=data, team=team)
            return lambda: _made(request, services.accept(actor, asked))

        return create(request, scope=feed.tenant_scope(team.tenant.pk) if team else feed.PLATFORM, prepare=prepare)


def _made(request: Request, row: Workload) -> tuple[dict[str, Any], UUID]:
    return answers.workload(request, row), row.pk


class DetailView(RestView):
    @extend_schema(responses=WorkloadAnswer, parameters=WAIT)
    def get(self, request: Request, id: UUID, kind: str) -> Response:  # noqa: A002
        return Response(answers.workload(request, selectors.of_kind(actor_of(request), id, kind)))

    @extend_schema(request=bodies.WorkloadChange, responses=WorkloadAnswer)
    def patch(self, request: Request, id: UUID, kind: str) -> Response:  # noqa: A002
        actor = actor_of(request)
        selectors.of_kind(actor, id, kind)
        data = request.data
        if not isinstance(data, dict):
            raise Invalid.field("body", _("The body must be a JSON object."))
        return Response(answers.workload(request, services.change(actor, workload_id=id, data=data)))

    @extend_schema(request=None, responses={202: WorkloadAnswer}, parameters=[OpenApiParameter("delete_data", bool)])
    def delete(self, request: Request, id: UUID, kind: str) -> Response:  # noqa: A002
        actor = actor_of(request)
        selectors.of_kind(actor, id, kind)
        row = services.delete(actor, workload_id=id, delete_data=flag(request, "delete_data"))
        return Response(answers.workload(request, row), status=202)


class StopView(RestView):
    @extend_schema(request=None, responses={200: WorkloadAnswer, 202: WorkloadAnswer})
    def post(self, request: Request, id: UUID, kind: str) -> Response:  # noqa: A002
        actor = actor_of(request)
        before = selectors.of_kind(actor, id, kind).state
        row = services.stop(actor, workload_id=id)
        return Response(answers.workload(request, row), status=200 if before == row.state == State.STOPPED else 202)


class StartView(RestView):
    @extend_schema(request=None, responses={202: WorkloadAnswer})
    def post(self, request: Request, id: UUID, kind: str) -> Response:  # noqa: A002
        actor = actor_of(request)
        selectors.of_kind(actor, id, kind)
        return Response(answers.workload(request, services.start(actor, workload_id=id)), status=202)


class RunsView(RestView):
    @extend_schema(responses=paged("Run", bodies.RunAnswer), parameters=PAGE_PARAMETERS)
    def get(self, request: Request, id: UUID, kind: str) -> Response:  # noqa: A002
        actor = actor_of(request)
        selectors.of_kind(actor, id, kind)
        rows = selectors.runs(actor, id)
        return Response(page(request, rows, answers.runs, column="number"))


class EventsView(RestView):
    @extend_schema(responses=paged("Event", bodies.EventAnswer), parameters=PAGE_PARAMETERS)
    def get(self, request: Request, id: UUID, kind: str) -> Response:  # noqa: A002
        actor = actor_of(request)
        selectors.of_kind(actor, id, kind)
        rows = selectors.events(actor, id)
        return Response(page(request, rows, answers.events, column="seq", default_order="created_at"))


class ExplainView(RestView):
    @extend_schema(responses=bodies.ExplainAnswer)
    def get(self, request: Request, id: UUID, kind: str) -> Response:  # noqa: A002
        actor = actor_of(request)
        selectors.of_kind(actor, id, kind)
        return Response(answers.explain(selectors.explain(actor, id)))


class ManifestsView(RestView):
    @extend_schema(
        responses={(200, "application/json"): bodies.ManifestsAnswer, (200, "application/yaml"): OpenApiTypes.STR},
        parameters=[OpenApiParameter("run", int), OpenApiParameter("format", str, enum=["json", "yaml"])],
    )
    def get(self, request: Request, id: UUID, kind: str) -> Response | HttpResponse:  # noqa: A002
        actor = actor_of(request)
        selectors.of_kind(actor, id, kind)
        run = request.query_params.get("run")
        if run is not None and not (run.isascii() and run.isdigit() and len(run) < 9):
            raise BadRequest(_("run must be a whole number."), code="run")
        found = selectors.manifests(actor, id, run=None if run is None else int(run))
        chosen = request.query_params.get("format", "json")
        if chosen not in ("json", "yaml"):
            raise BadRequest(_("format must be json or yaml."), code="format")
        if chosen == "yaml":
            text = yaml.safe_dump_all(found.manifests, sort_keys=False, allow_unicode=True, width=100_000)
            return HttpResponse(text, content_type="application/yaml")
        return Response({"run": found.run, "manifests": found.manifests})


class LogsView(RestView):
    """Documents the log; `jobs.api.logs` answers it."""

    @extend_schema(
        responses={(200, "text/plain"): OpenApiTypes.STR},
        parameters=[
            OpenApiParameter("run", int),
            OpenApiParameter("container", str),
            OpenApiParameter(
                "tail", int, description="Lines from the end, at most 10,000; where missing 100, or with `since` all."
            ),
            OpenApiParameter("since", str, description="RFC 3339: lines from this moment on."),
            OpenApiParameter("previous", bool, description="The container's life before its last restart."),
            OpenApiParameter("follow", bool, description="Streams what comes until the run is over."),
        ],
    )
    def get(self, request: Request, id: UUID, kind: str) -> Response:  # noqa: A002
        raise BadRequest(_("The log is served as a stream."))


class KeyView(RestView):
    @extend_schema(responses=bodies.KeyAnswer)
    def get(self, request: Request, id: UUID, kind: str) -> Response:  # noqa: A002
        actor = actor_of(request)
        selectors.of_kind(actor, id, kind)
        return Response(selectors.key(actor, id))

    @extend_schema(request=None, responses=bodies.KeyAnswer)
    def post(self, request: Request, id: UUID, kind: str) -> Response:  # noqa: A002
        actor = actor_of(request)
        selectors.of_kind(actor, id, kind)
        return Response(services.rotate_key(actor, workload_id=id))
