"""The cluster door over the official client, in raw mode: the client connects, authenticates and speaks TLS; the JSON
stays JSON, since its typed models break on data that servers accept and drop fields they do not know.

Nothing here is tried twice: a write whose answer is lost is `Unreachable`, and its caller looks for what it wrote.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from threading import Lock
from typing import Any
from urllib.parse import quote

import orjson
import urllib3
from kubernetes.client.api_client import ApiClient
from kubernetes.client.configuration import Configuration
from kubernetes.client.exceptions import ApiException
from kubernetes.config.config_exception import ConfigException
from kubernetes.config.incluster_config import load_incluster_config
from kubernetes.config.kube_config import load_kube_config
from urllib3.exceptions import HTTPError

from portal.cluster.answers import failure, from_status_object
from portal.cluster.port import (
    RESOURCES,
    Discovery,
    Expired,
    InvalidObject,
    JsonObject,
    Missing,
    ObjectRef,
    Page,
    Propagation,
    Resource,
    Right,
    ServerTrouble,
    Unauthorized,
    Unreachable,
    VersionConflict,
    WatchEvent,
)
from portal.kernel import clock

log = logging.getLogger(__name__)

_APPLY = "application/apply-patch+yaml"
_MERGE = "application/merge-patch+json"
_JSON = "application/json"
_VISIBILITY = "visibility.kueue.x-k8s.io/v1beta2"
_REVIEWS = "authorization.k8s.io/v1"
_MOST_PENDING = 10_000
_RENEW_EVERY = 5.0
_POOL = 64


@dataclass(frozen=True)
class Timeouts:
    """Seconds: to connect, for an answer, and of silence in a watch (longer than two bookmark intervals) or a log."""

    connect: float = 3.0
    answer: float = 10.0
    watch_silence: float = 130.0
    log_silence: float = 20.0


class Connection:
    """How one API server is reached, shared by all threads. `target`: an http(s) address (no credentials: the simulated
    cluster), `in-cluster`, or the path of a kubeconfig. Token files are read again as they change, everything else
    after a 401."""

    def __init__(self, target: str) -> None:
        self._target = target
        self._lock = Lock()
        self._client: ApiClient | None = None
        self._built_at = 0.0

    def client(self) -> ApiClient:
        """The client; raises Unreachable where the credentials cannot be read."""
        with self._lock:
            if self._client is None:
                self._client = ApiClient(self._configuration())
                self._client.user_agent = "turno"
                self._built_at = clock.monotonic()
            return self._client

    def renew(self) -> bool:
        """After a 401: reads the credentials again for the next call, at most every 5 s; whether it did."""
        with self._lock:
            if self._client is None or clock.monotonic() - self._built_at < _RENEW_EVERY:
                return False
            self._client = None
            return True

    def _configuration(self) -> Configuration:
        configuration = Configuration()
        try:
            if self._target.startswith(("http://", "https://")):
                configuration.host = self._target.rstrip("/")
                configuration.proxy = None
            elif self._target == "in-cluster":
                load_incluster_config(client_configuration=configuration)  # type: ignore[no-untyped-call]
            else:
                load_kube_config(  # type: ignore[no-untyped-call]
                    self._target, client_configuration=configuration, persist_config=False
                )
        except (ConfigException, OSError) as error:
            raise Unreachable(f"cannot read the cluster's credentials: {error}") from error
        configuration.retries = False
        configuration.connection_pool_maxsize = _POOL
        return configuration


class KubeGateway:
    """`ClusterGateway` over one connection. `manager`: our field manager, `turno-<instance>`. `before_call` is called
    before each exchange that is not a stream, and may raise."""

    def __init__(
        self,
        connection: Connection,
        *,
        manager: str,
        timeouts: Timeouts | None = None,
        before_call: Callable[[], None] | None = None,
    ) -> None:
        self._connection = connection
        self._manager = manager
        self._timeouts = timeouts or Timeouts()
        self._before_call = before_call

    def create(self, manifest: JsonObject) -> JsonObject:
        ref = ObjectRef.of(manifest)
        path = _collection(ref.resource, ref.namespace)
        return self._json("POST", path, {"fieldManager": self._manager}, body=manifest, content_type=_JSON)

    def apply(self, manifest: JsonObject, *, force: bool = False) -> JsonObject:
        query = {"fieldManager": self._manager, "force": "true" if force else "false"}
        return self._json("PATCH", _path(ObjectRef.of(manifest)), query, body=manifest, content_type=_APPLY)

    def patch(self, ref: ObjectRef, patch: JsonObject, *, uid: str, resource_version: str) -> JsonObject:
        metadata = {**(patch.get("metadata") or {}), "uid": uid, "resourceVersion": resource_version}
        body = {**patch, "metadata": metadata}
        try:
            return self._json("PATCH", _path(ref), {"fieldManager": self._manager}, body=body, content_type=_MERGE)
        except InvalidObject as error:
            if set(error.causes) == {"metadata.uid"}:  # another object has the name now
                raise VersionConflict(error.message) from error
            raise

    def get(self, ref: ObjectRef) -> JsonObject | None:
        try:
            return self._json("GET", _path(ref))
        except Missing:
            return None

    def list(
        self, kind: str, *, namespace: str | None = None, selector: str = "", limit: int = 500, continue_token: str = ""
    ) -> Page:
        query = {"limit": str(limit)}
        if selector:
            query["labelSelector"] = selector
        if continue_token:
            query["continue"] = continue_token
        resource = RESOURCES[kind]
        try:
            answer = self._json("GET", _collection(resource, namespace), query)
        except InvalidObject as error:
            if continue_token:
                raise Expired(error.message) from error
            raise
        metadata = answer.get("metadata") or {}
        items = answer.get("items") or []
        for item in items:  # a list's items leave these out
            item.setdefault("kind", kind)
            item.setdefault("apiVersion", resource.api_version)
        return Page(items, str(metadata.get("resourceVersion") or ""), str(metadata.get("continue") or ""))

    def delete(self, ref: ObjectRef, *, uid: str, propagation: Propagation = "Background") -> None:
        body = {
            "kind": "DeleteOptions",
            "apiVersion": "v1",
            "propagationPolicy": propagation,
            "preconditions": {"uid": uid},
        }
        try:
            self._json("DELETE", _path(ref), body=body, content_type=_JSON)
        except Missing:
            return
        except VersionConflict as error:
            if not any(phrase in error.message for phrase in _GONE_OR_GOING):
                raise

    def watch(
        self, kind: str, *, resource_version: str, selector: str = "", timeout_seconds: int = 300
    ) -> Generator[WatchEvent]:
        query = {"watch": "1", "allowWatchBookmarks": "true", "timeoutSeconds": str(timeout_seconds)}
        query["resourceVersion"] = resource_version
        if selector:
            query["labelSelector"] = selector
        path = _collection(RESOURCES[kind], None)
        with self._stream(path, query, silence=self._timeouts.watch_silence) as pieces:
            for line in _lines(pieces):
                yield _event(line)

    def logs(
        self,
        namespace: str,
        pod: str,
        *,
        container: str,
        follow: bool = False,
        previous: bool = False,
        since: str = "",
        limit_bytes: int | None = None,
    ) -> Generator[bytes]:
        query = {"container": container, "timestamps": "true"}
        if follow:
            query["follow"] = "true"
        if previous:
            query["previous"] = "true"
        if since:
            query["sinceTime"] = since
        if limit_bytes is not None:
            query["limitBytes"] = str(limit_bytes)
        path = f"{_path(ObjectRef('Pod', pod, namespace))}/log"
        with self._stream(path, query, silence=self._timeouts.log_silence) as pieces:
            yield from pieces

    def discover(self) -> Discovery:
        version = str(self._json("GET", "/version").get("gitVersion", ""))
        kinds: dict[str, frozenset[str]] = {}
        for group_version in sorted({resource.api_version for resource in RESOURCES.values()}):
            path = f"/apis/{group_version}" if "/" in group_version else f"/api/{group_version}"
            try:
                listed = self._json("GET", path).get("resources") or []
            except Missing:
                continue
            kinds[group_version] = frozenset(str(each.get("kind", "")) for each in listed)
        return Discovery(version, kinds)

    def pending(self, cluster_queue: str) -> Sequence[str]:
        path = f"/apis/{_VISIBILITY}/clusterqueues/{quote(cluster_queue, safe='')}/pendingworkloads"
        items = self._json("GET", path, {"limit": str(_MOST_PENDING)}).get("items") or []
        found = [each.get("metadata") or {} for each in items]
        return [f"{each.get('namespace', '')}/{each.get('name', '')}" for each in found]

    def look(self, path: str) -> tuple[JsonObject, str]:
        with _as_cluster_errors():
            response = self._send("GET", path, {}, self._timeouts.answer)
            data = response.data
        return _as_object(data), response.headers.get("Date", "")

    def allowed(self, right: Right) -> bool:
        body = {"apiVersion": _REVIEWS, "kind": "SelfSubjectAccessReview"}
        spec = {"resourceAttributes": right.attributes()}
        answer = self._json(
            "POST", f"/apis/{_REVIEWS}/selfsubjectaccessreviews", body={**body, "spec": spec}, content_type=_JSON
        )
        return bool((answer.get("status") or {}).get("allowed"))

    def _json(
        self,
        method: str,
        path: str,
        query: Mapping[str, str] | None = None,
        *,
        body: JsonObject | None = None,
        content_type: str = "",
    ) -> JsonObject:
        """One exchange, read to its end. Raises a ClusterError for every answer that is not a JSON object."""
        if self._before_call is not None:
            self._before_call()
        with _as_cluster_errors():
            response = self._send(method, path, query or {}, self._timeouts.answer, body, content_type)
            data = response.data
        return _as_object(data)

    @contextmanager
    def _stream(self, path: str, query: Mapping[str, str], *, silence: float) -> Iterator[Iterator[bytes]]:
        with _as_cluster_errors():
            response = self._send("GET", path, query, silence)
            try:
                yield _pieces(response)
            finally:
                response.close()

    def _send(
        self,
        method: str,
        path: str,
        query: Mapping[str, str],
        read_timeout: float,
        body: JsonObject | None = None,
        content_type: str = "",
    ) -> urllib3.BaseHTTPResponse:
        """The answer's head, for a status of 2xx. Raises ClusterError, and urllib3's own errors."""
        client = self._connection.client()
        headers = {"Accept": _JSON}
        if content_type:
            headers["Content-Type"] = content_type
        method, url, sent, *_ = client.param_serialize(
            method=method,
            resource_path=path,
            query_params=list(query.items()),
            header_params=headers,
            auth_settings=["BearerToken"],
        )
        timeout = (self._timeouts.connect, read_timeout)
        response: urllib3.BaseHTTPResponse = client.call_api(
            method, url, sent, body=body, _request_timeout=timeout
        ).response
        if 200 <= response.status < 300:
            return response
        try:
            error = failure(response.status, response.data, retry_after=response.headers.get("Retry-After"))
        finally:
            response.close()
        if isinstance(error, Unauthorized) and self._connection.renew():
            log.warning("the cluster refused our credentials; they are read again")
        raise error


def _as_object(data: bytes) -> JsonObject:
    try:
        answer = orjson.loads(data)
    except orjson.JSONDecodeError as error:
        raise ServerTrouble(f"the answer is not JSON: {data[:200]!r}") from error
    if not isinstance(answer, dict):
        raise ServerTrouble(f"the answer is not an object: {data[:200]!r}")
    return answer


_ADDRESS = re.compile(r"HTTPS?Connection(Pool)?\([^)]*\): ")
# A conflict that means: ours is gone (another object has the name), or the namespace is already going.
_GONE_OR_GOING = ("the UID in the precondition", "all content is removed from this namespace")


@contextmanager
def _as_cluster_errors() -> Iterator[None]:
    """Whatever the client and its connection raise, as Unreachable; our own errors pass."""
    try:
        yield
    except (HTTPError, ApiException, OSError) as error:
        raise Unreachable(_words(error)) from error


def _words(error: Exception) -> str:
    """The client's words without the address of the connection, which people who read them know."""
    return _ADDRESS.sub("", str(error))[:300] or type(error).__name__


def _collection(resource: Resource, namespace: str | None) -> str:
    if namespace is None or not resource.namespaced:
        return f"{resource.path}/{resource.plural}"
    return f"{resource.path}/namespaces/{quote(namespace, safe='')}/{resource.plural}"


def _path(ref: ObjectRef) -> str:
    return f"{_collection(ref.resource, ref.namespace)}/{quote(ref.name, safe='')}"


def _pieces(response: urllib3.BaseHTTPResponse) -> Iterator[bytes]:
    """What arrives, as it arrives. Raises urllib3's error where the stream is cut or silent too long."""
    if getattr(response, "chunked", False):
        yield from response.read_chunked()
        return
    while piece := response.read1(65536):
        yield piece


def _lines(pieces: Iterator[bytes]) -> Iterator[bytes]:
    """Whole lines. Raises Unreachable where the stream ends inside of one."""
    rest: list[bytes] = []
    for piece in pieces:
        *whole, last = piece.split(b"\n")
        if whole:
            whole[0] = b"".join([*rest, whole[0]])
            rest = []
            yield from (line for line in whole if line)
        if last:
            rest.append(last)
    if rest:
        raise Unreachable("the stream was cut inside an event")


def _event(line: bytes) -> WatchEvent:
    try:
        event: dict[str, Any] = orjson.loads(line)
    except orjson.JSONDecodeError as error:
        raise Unreachable("the stream holds something that is not JSON") from error
    kind, found = str(event.get("type", "")), event.get("object") or {}
    if kind == "ERROR":
        raise from_status_object(found, status=int(found.get("code") or 500))
    return WatchEvent(kind, found)
