"""Forward-auth: ask the portal whether this browser may open this workload, as a gateway does for each request."""

from __future__ import annotations

import asyncio
import http.client
from dataclasses import dataclass
from urllib.parse import urlsplit

from portal.cluster.simulated.dataplane.messages import Headers, Incoming, Outgoing, as_json

CHECK_PATH = "/connect/check/"
TIMEOUT_SECONDS = 3.0
_PASSED_BACK = ("location", "content-type", "cache-control", "www-authenticate", "retry-after", "set-cookie")
_HOP_HEADERS = ("connection", "keep-alive", "upgrade", "transfer-encoding", "content-length", "host")


@dataclass(frozen=True)
class Verdict:
    """allowed: go on, adding `headers` to the answer and `authorization` to the request. Otherwise `refusal` is the
    answer."""

    allowed: bool
    headers: Headers = ()
    authorization: str = ""
    refusal: Outgoing | None = None


class Door:
    """The portal's check. portal_url: where the portal listens, e.g. http://127.0.0.1:8000."""

    def __init__(self, portal_url: str) -> None:
        parts = urlsplit(portal_url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise ValueError(f"not the address of a portal: {portal_url}")
        self._secure = parts.scheme == "https"
        self._host, self._port = parts.hostname, parts.port or (443 if self._secure else 80)
        self._authority = parts.netloc

    async def ask(self, request: Incoming) -> Verdict:
        """Never raises: a portal that does not answer is a 503 for the browser."""
        try:
            status, headers, body = await asyncio.to_thread(self._call, request)
        except (OSError, http.client.HTTPException):
            told = {"error": "unavailable", "message": "The portal does not answer; nothing is opened without it."}
            return Verdict(allowed=False, refusal=as_json(503, told, (("retry-after", "2"),)))
        kept = tuple((name, value) for name, value in headers if name in _PASSED_BACK)
        if 200 <= status < 300:
            cookies = tuple(pair for pair in kept if pair[0] == "set-cookie")
            authorization = next((value for name, value in headers if name == "authorization"), "")
            return Verdict(allowed=True, headers=cookies, authorization=authorization)
        content_type = next((value for name, value in kept if name == "content-type"), "text/plain")
        others = tuple(pair for pair in kept if pair[0] != "content-type")
        return Verdict(allowed=False, refusal=Outgoing(status, body, content_type, others))

    def _call(self, request: Incoming) -> tuple[int, Headers, bytes]:
        kind = http.client.HTTPSConnection if self._secure else http.client.HTTPConnection
        connection = kind(self._host, self._port, timeout=TIMEOUT_SECONDS)
        try:
            connection.request("GET", CHECK_PATH, headers=self._headers(request))
            answer = connection.getresponse()
            headers = tuple((name.lower(), value) for name, value in answer.getheaders())
            return answer.status, headers, answer.read()
        finally:
            connection.close()

    def _headers(self, request: Incoming) -> dict[str, str]:
        return {
            "Host": self._authority,
            "Accept": request.header("accept") or "*/*",
            "Accept-Language": request.header("accept-language"),
            "Cookie": request.header("cookie"),
            "User-Agent": request.header("user-agent"),
            "X-Forwarded-Host": request.authority,
            "X-Forwarded-Method": request.method,
            "X-Forwarded-Proto": request.scheme,
            "X-Forwarded-Uri": request.uri,
            "X-Original-URL": f"{request.scheme}://{request.authority}{request.uri}",
        }


def for_workload(request: Incoming, authorization: str = "") -> Incoming:
    """The request as the workload may see it: what the portal set on this host is taken out, and hop headers too; the
    Authorization that the portal named takes the place of the browser's."""
    dropped = (*_HOP_HEADERS, "authorization") if authorization else _HOP_HEADERS
    kept = [pair for pair in map(_cleaned, request.headers) if pair[1] or pair[0] != "cookie"]
    return Incoming(
        request.method,
        request.scheme,
        request.host,
        request.authority,
        request.path,
        request.query,
        (
            *(pair for pair in kept if pair[0] not in dropped),
            *(("authorization", one) for one in (authorization,) if one),
        ),
        request.body,
    )


def _cleaned(header: tuple[str, str]) -> tuple[str, str]:
    name, value = header
    if name != "cookie":
        return header
    pairs = [pair.strip() for pair in value.split(";")]
    return name, "; ".join(pair for pair in pairs if pair and not _is_portals(pair.partition("=")[0]))


def _is_portals(name: str) -> bool:
    plain = name.removeprefix("__Host-").removeprefix("__Secure-").lower()
    return plain.startswith("turno") or plain in ("sessionid", "csrftoken")
