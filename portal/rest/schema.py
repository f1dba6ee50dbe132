"""The OpenAPI document: drf-spectacular's, plus every problem that an operation can answer."""

from __future__ import annotations

from typing import Any

from drf_spectacular.openapi import AutoSchema

PROBLEM = {
    "type": "object",
    "description": "RFC 9457 problem details.",
    "required": ["type", "title", "status", "detail", "code", "instance"],
    "properties": {
        "type": {"type": "string"},
        "title": {"type": "string"},
        "status": {"type": "integer"},
        "detail": {"type": "string"},
        "code": {"type": "string"},
        "instance": {"type": "string"},
        "errors": {
            "type": "array",
            "items": {
                "type": "object",
                "required": ["field", "code", "message"],
                "properties": {k: {"type": "string"} for k in ("field", "code", "message")},
            },
        },
    },
}
DESCRIPTIONS = {
    "400": "Malformed JSON, header, cursor or query.",
    "401": "No or bad credentials.",
    "403": "May see it, but may not do this.",
    "404": "Missing, or not visible to the caller: the same body for both.",
    "405": "The path does not know this method.",
    "409": "The state or a taken name forbids it now.",
    "413": "The body has more than 1 MiB.",
    "415": "The body is not JSON in UTF-8.",
    "422": "A field cannot be accepted; `errors` names it.",
    "429": "Asked too often; see Retry-After.",
    "503": "Something behind Turno does not answer; see Retry-After.",
}
EVERYWHERE = ("400", "401", "403", "404", "405", "429", "503")
WITH_BODY = ("409", "413", "415", "422")
RETRY = {"Retry-After": {"schema": {"type": "integer"}, "description": "Seconds."}}
WITHOUT_ACCOUNT = ("/api/v1/schema/", "/api/v1/docs/")
KEY = {
    "name": "Idempotency-Key",
    "in": "header",
    "required": False,
    "description": "1 to 255 visible ASCII characters; kept for 24 hours.",
    "schema": {"type": "string", "minLength": 1, "maxLength": 255, "pattern": r"^[\x21-\x7e]+$"},
}


class TurnoSchema(AutoSchema):
    """Short operation ids, and no security requirement that the document does not define."""

    def get_operation_id(self) -> str:
        words = [w for w in self.path.strip("/").split("/")[2:] if not w.startswith("{")]
        verb = {"GET": "get", "POST": "post", "PUT": "put", "PATCH": "patch", "DELETE": "delete"}[self.method]
        if self.method == "GET" and not self.path.rstrip("/").endswith("}") and self._is_list_view():
            verb = "list"
        named = "_".join(words).replace("-", "_")
        return f"{verb}_{named}{'_one' if self.path.rstrip('/').endswith('}') else ''}"

    def get_auth(self) -> list[dict[str, list[str]]]:
        return [{"bearer": []}, {"session": []}]


def document_problems(result: dict[str, Any], generator: Any, request: Any, public: bool) -> dict[str, Any]:  # noqa: FBT001
    """drf-spectacular postprocessing hook."""
    components = result.setdefault("components", {})
    components.setdefault("schemas", {})["Problem"] = PROBLEM
    components["securitySchemes"] = {
        "bearer": {"type": "http", "scheme": "bearer"},
        "session": {"type": "apiKey", "in": "cookie", "name": "sessionid"},
    }
    for path, operations in result["paths"].items():
        for method, operation in operations.items():
            _complete(path, method, operation)
    return result


def _complete(path: str, method: str, operation: dict[str, Any]) -> None:
    if path in WITHOUT_ACCOUNT:
        operation["security"] = [{}]
    codes = EVERYWHERE + (WITH_BODY if method in ("post", "put", "patch", "delete") else ())
    responses = operation.setdefault("responses", {})
    for code in codes:
        responses.setdefault(
            code,
            {
                "description": DESCRIPTIONS[code],
                "content": {"application/problem+json": {"schema": {"$ref": "#/components/schemas/Problem"}}},
                **({"headers": RETRY} if code in ("429", "503") else {}),
            },
        )
    if method == "post" and "201" in responses:
        operation.setdefault("parameters", []).append(KEY)
