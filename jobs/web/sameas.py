"""The same request for those who do not click: as curl, and as the objects it becomes. Pure text."""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping, Sequence
from typing import Any

import yaml


def curl(address: str, body: Mapping[str, object], key: str) -> str:
    """One command for a shell. The token comes from TURNO_TOKEN, so that none stands on the page."""
    data = json.dumps(body, ensure_ascii=False, indent=2)
    lines = [
        f"curl --fail-with-body -sS -X POST {shlex.quote(address)}",
        '-H "Authorization: Bearer $TURNO_TOKEN"',
        "-H 'Content-Type: application/json'",
        f"-H {shlex.quote(f'Idempotency-Key: {key}')}",
        f"--data-raw {shlex.quote(data)}",
    ]
    return " \\\n  ".join(lines)


def as_yaml(objects: Sequence[Mapping[str, Any]]) -> str:
    """Kubernetes objects as one YAML stream; long lines are never folded, so words stay words."""
    return yaml.safe_dump_all(
        [dict(one) for one in objects], sort_keys=False, allow_unicode=True, width=2**31, default_flow_style=False
    )


def chat(url: str, model: str) -> str:
    """An example call of an endpoint in the OpenAI API's form; the key comes from TURNO_ENDPOINT_KEY."""
    body = {"model": model, "messages": [{"role": "user", "content": "Hello"}]}
    lines = [
        f"curl -sS {shlex.quote(url.rstrip('/') + '/chat/completions')}",
        '-H "Authorization: Bearer $TURNO_ENDPOINT_KEY"',
        "-H 'Content-Type: application/json'",
        f"--data-raw {shlex.quote(json.dumps(body))}",
    ]
    return " \\\n  ".join(lines)
