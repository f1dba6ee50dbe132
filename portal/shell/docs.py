"""`/api/v1/schema/` and `/api/v1/docs/`: the contract for machines and for people. No account needed."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import orjson
import yaml
from django.http import HttpRequest, HttpResponse, HttpResponseNotAllowed
from django.http.response import HttpResponseBase
from django.shortcuts import render
from django.utils.translation import gettext as _
from drf_spectacular.generators import SchemaGenerator

from portal.kernel.errors import BadRequest
from portal.shell import problems
from portal.shell.problems import Problem

METHODS = ("get", "post", "put", "patch", "delete")


@lru_cache(maxsize=1)
def document() -> dict[str, Any]:
    """The OpenAPI 3.1 document of this build."""
    generator = SchemaGenerator()  # type: ignore[no-untyped-call]
    return dict(generator.get_schema(request=None, public=True))  # type: ignore[no-untyped-call]


@lru_cache(maxsize=1)
def _yaml() -> str:
    return yaml.safe_dump(document(), sort_keys=False, allow_unicode=True, width=100_000)


def _only_get(request: HttpRequest) -> HttpResponseBase | None:
    if request.method in ("GET", "HEAD"):
        return None
    answer = problems.response(request, Problem(405, "method_not_allowed"))
    answer["Allow"] = HttpResponseNotAllowed(["GET"])["Allow"]
    return answer


def schema(request: HttpRequest) -> HttpResponseBase:
    """JSON by Accept or `?format=json`, YAML otherwise."""
    if refused := _only_get(request):
        return refused
    chosen = request.GET.get("format", "")
    if chosen not in ("", "json", "yaml"):
        raise BadRequest(_("format must be json or yaml."), code="format")
    if chosen == "json" or (not chosen and "application/json" in request.headers.get("Accept", "")):
        return HttpResponse(orjson.dumps(document()), content_type="application/json")
    return HttpResponse(_yaml(), content_type="application/yaml")


def docs(request: HttpRequest) -> HttpResponseBase:
    """Every operation with its parameters, example and answers, as one page without script."""
    if refused := _only_get(request):
        return refused
    operations = [
        _operation(path, method, item[method])
        for path, item in document()["paths"].items()
        for method in METHODS
        if method in item
    ]
    return render(request, "shell/api_docs.html", {"operations": operations})


def _operation(path: str, method: str, operation: dict[str, Any]) -> dict[str, Any]:
    content = operation.get("requestBody", {}).get("content", {}).get("application/json", {})
    examples = [example["value"] for example in content.get("examples", {}).values()]
    return {
        "path": path,
        "method": method.upper(),
        "id": operation["operationId"],
        "text": operation.get("description", ""),
        "parameters": operation.get("parameters", []),
        "example": orjson.dumps(examples[0], option=orjson.OPT_INDENT_2).decode() if examples else "",
        "answers": [(code, answer.get("description", "")) for code, answer in sorted(operation["responses"].items())],
    }
