"""The HTTP API of the simulated cluster, as an ASGI application."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from portal.cluster.simulated import decoding, discovery
from portal.cluster.simulated.errors import ApiError, BadRequest, NotFound
from portal.cluster.simulated.exchange import (
    Receive,
    Request,
    Response,
    Scope,
    Send,
    answer,
    receive_request,
    refusal,
)
from portal.cluster.simulated.logs import LogBook
from portal.cluster.simulated.objects import Obj
from portal.cluster.simulated.patch import json_patch, merge_patch
from portal.cluster.simulated.podlogs import log_options, read_logs
from portal.cluster.simulated.reads import list_objects, only_metadata, selection
from portal.cluster.simulated.routes import Route, route
from portal.cluster.simulated.store import Store
from portal.cluster.simulated.watches import Watch, watch_options
from portal.cluster.simulated.webhooks import Webhooks
from portal.cluster.simulated.writes import (
    Deletion,
    Options,
    Place,
    Writes,
    check_dry_run,
    check_manager,
    check_propagation,
)
from portal.kernel import clock as wall

Visibility = Callable[[str], Response]
"""Answers a GET below /apis/visibility.kueue.x-k8s.io/v1beta2/ (the rest of the path is given)."""

_ALIVE = ("/healthz", "/livez", "/readyz")
_VISIBILITY = "/apis/visibility.kueue.x-k8s.io/v1beta2/"
_REVIEW = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"
_RETURNED = ("PersistentVolumeClaim", "Pod", "ResourceQuota", "Service", "ServiceAccount")
_NOWHERE = Response(404, text="404 page not found\n")


@dataclass
class Api:
    """One API server over one store. bookmark_every: seconds between a watch's bookmarks."""

    store: Store
    logs: LogBook
    webhooks: Webhooks = field(default_factory=Webhooks)
    clock: Callable[[], datetime] = wall.now
    bookmark_every: float = 10.0
    visibility: Visibility | None = None

    def __post_init__(self) -> None:
        self._writes = Writes(self.store, self.webhooks, self.clock)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """The ASGI entry. A watch or a followed log ends when its client goes: sending to it is cancelled."""
        if scope["type"] != "http":
            return
        try:
            response = self.answer(await receive_request(scope, receive))
        except ApiError as error:
            response = refusal(error)
        await answer(response, receive, send)

    def answer(self, request: Request) -> Response:
        """Raises ApiError. A stream in the answer must be read or closed within the loop."""
        fixed = self._fixed(request)
        if fixed is not None:
            return fixed
        found = route(request.path)
        if found is None:
            return _NOWHERE
        if found.subresource == "log":
            self._only(request, "GET")
            options = log_options(request.query, self.clock())
            return read_logs(self.store, self.logs, (found.namespace, found.name), options)
        return self._object(request, found) if found.name else self._collection(request, found)

    def _fixed(self, request: Request) -> Response | None:
        """Paths that are no resource."""
        path = request.path.rstrip("/")
        if path in _ALIVE:
            return Response(text="ok")
        if path == "/version":
            return Response(document=discovery.VERSION)
        if path == _REVIEW and request.method == "POST":
            return self._review(request)
        if request.path.startswith(_VISIBILITY) and self.visibility is not None:
            return self.visibility(request.path.removeprefix(_VISIBILITY))
        document = _discovered(path)
        return None if document is None else Response(document=document)

    def _collection(self, request: Request, found: Route) -> Response:
        if request.method == "GET":
            return self._list(request, found)
        if request.method == "POST" and (found.namespace is not None or not found.resource.namespaced):
            obj = self._body(request, found)
            return Response(201, self._writes.create(_place(found), obj, _options(request)))
        if request.method == "DELETE":
            return self._delete_collection(request, found)
        raise _not_allowed()

    def _list(self, request: Request, found: Route) -> Response:
        wanted = selection(found.resource, found.namespace, request.query)
        if request.flag("watch"):
            options = watch_options(request.query, self.bookmark_every)
            return Response(stream=Watch(self.store, wanted, options).stream())
        listed = list_objects(self.store, wanted, request.query)
        return Response(document=only_metadata(listed) if _wants_metadata(request) else listed)

    def _delete_collection(self, request: Request, found: Route) -> Response:
        wanted = selection(found.resource, found.namespace, request.query)
        listed = list_objects(self.store, wanted, request.query)
        deletion = self._deletion(request)
        for item in listed["items"]:
            meta = item["metadata"]
            self._writes.delete(Place(found.resource, meta.get("namespace"), meta["name"]), deletion)
        return Response(document=listed)

    def _object(self, request: Request, found: Route) -> Response:
        place = _place(found)
        if request.method == "GET":
            obj = self.store.get(found.resource.kind, found.namespace, found.name)
            if obj is None:
                raise NotFound(found.resource, found.name)
            return Response(document=obj)
        if request.method == "PUT":
            return Response(document=self._writes.replace(place, self._body(request, found), _options(request)))
        if request.method == "PATCH":
            return self._patch(request, place)
        if request.method == "DELETE" and not found.subresource:
            return self._delete(request, place)
        raise _not_allowed()

    def _patch(self, request: Request, place: Place) -> Response:
        media = decoding.media_type(request.headers.get("content-type"), patch=True)
        if media == decoding.APPLY_PATCH:
            manager = check_manager(request.query.get("fieldManager"))
            document = decoding.decode(request.body, media, place.resource.kind)
            config = decoding.as_object(document, place.resource)
            applied, new = self._writes.apply(place, config, _options(request, manager))
            return Response(201 if new else 200, applied)
        document = decoding.decode(request.body, media, place.resource.kind)
        if media == decoding.MERGE_PATCH and not isinstance(document, dict):
            raise BadRequest("json: cannot unmarshal array into Go value of type map[string]interface {}")

        def change(obj: Obj) -> Obj:
            patched = json_patch(obj, document) if media == decoding.JSON_PATCH else merge_patch(obj, document)
            decoding.check_types(patched, place.resource)
            return dict(patched)

        return Response(document=self._writes.patch(place, change, _options(request)))

    def _delete(self, request: Request, place: Place) -> Response:
        left, gone = self._writes.delete(place, self._deletion(request))
        if not gone or place.resource.kind in _RETURNED:
            return Response(document=left)
        details: Obj = {"name": place.name}
        if place.resource.group:
            details["group"] = place.resource.group
        details |= {"kind": place.resource.plural, "uid": left["metadata"]["uid"]}
        status = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "details": details}
        return Response(document=status)

    def _review(self, request: Request) -> Response:
        """Everybody may do everything here."""
        document = decoding.decode(request.body, decoding.JSON, "SelfSubjectAccessReview")
        spec = document.get("spec") if isinstance(document, dict) else None
        review = {"kind": "SelfSubjectAccessReview", "apiVersion": "authorization.k8s.io/v1", "metadata": {}}
        return Response(201, {**review, "spec": spec or {}, "status": {"allowed": True}})

    def _body(self, request: Request, found: Route) -> Obj:
        media = decoding.media_type(request.headers.get("content-type"), patch=False)
        return decoding.as_object(decoding.decode(request.body, media, found.resource.kind), found.resource)

    def _deletion(self, request: Request) -> Deletion:
        """DeleteOptions of the body, and of the query, which wins."""
        document = decoding.decode(request.body, decoding.JSON, "DeleteOptions") if request.body.strip() else {}
        if not isinstance(document, dict):
            raise BadRequest("the object provided is unrecognized (must be of type DeleteOptions)")
        preconditions = document.get("preconditions") or {}
        grace = request.query.get("gracePeriodSeconds", document.get("gracePeriodSeconds"))
        return Deletion(
            uid=preconditions.get("uid"),
            resource_version=preconditions.get("resourceVersion"),
            propagation=check_propagation(request.query.get("propagationPolicy", document.get("propagationPolicy"))),
            grace_seconds=_seconds(grace),
            dry_run=_dry_run(request, "DeleteOptions") or check_dry_run("DeleteOptions", document.get("dryRun") or []),
        )

    def _only(self, request: Request, method: str) -> None:
        if request.method != method:
            raise _not_allowed()


def _place(found: Route) -> Place:
    return Place(found.resource, found.namespace, found.name, found.subresource)


def _options(request: Request, manager: str = "") -> Options:
    """Without a fieldManager, the manager is what the user agent begins with."""
    name = manager or request.query.get("fieldManager") or request.headers.get("user-agent", "unknown").split("/")[0]
    kind = {"POST": "CreateOptions", "PUT": "UpdateOptions"}.get(request.method, "PatchOptions")
    return Options(manager=name, dry_run=_dry_run(request, kind), force=request.flag("force"))


def _dry_run(request: Request, options: str) -> bool:
    asked = request.query.get("dryRun")
    return check_dry_run(options, [asked] if asked else [])


def _seconds(value: Any) -> int | None:
    if value is None or value == "":
        return None
    if not str(value).isdecimal():
        raise BadRequest(f"gracePeriodSeconds: {value!r} is not a number of seconds")
    return int(value)


def _wants_metadata(request: Request) -> bool:
    return "as=PartialObjectMetadataList" in request.headers.get("accept", "")


def _not_allowed() -> ApiError:
    return ApiError(405, "MethodNotAllowed", "the server does not allow this method on the requested resource", {})


def _discovered(path: str) -> Obj | None:
    parts = [part for part in path.split("/") if part]
    if parts == ["api"]:
        return discovery.core_versions()
    if parts == ["apis"]:
        return discovery.groups()
    if parts == ["api", "v1"]:
        return discovery.resources("v1")
    if parts[:1] == ["apis"] and len(parts) == 2:
        return discovery.group(parts[1])
    if parts[:1] == ["apis"] and len(parts) == 3:
        return discovery.resources(f"{parts[1]}/{parts[2]}")
    return None
