"""Structured logs: one JSON object a line, with the request's and the workload's id, and no secret."""

from __future__ import annotations

import logging
import logging.config
import re
from typing import Any

import structlog
from structlog.typing import EventDict, Processor

SECRET = re.compile(r"(?i)(authorization|password|passwd|secret|token|cookie|api[-_]?key)")
BEARER = re.compile(r"(?i)\b(bearer\s+)[A-Za-z0-9._~+/=-]{8,}")
KEPT = {"lease_token"}


def redact(_logger: Any, _method: str, event: EventDict) -> EventDict:
    """Replaces values of keys that name a secret, and bearer tokens anywhere in a text."""
    for key, value in event.items():
        if SECRET.search(key) and key not in KEPT:
            event[key] = "[redacted]"
        elif isinstance(value, str):
            event[key] = BEARER.sub(r"\1[redacted]", value)
    return event


def configure(*, level: str, json_lines: bool) -> None:
    """Sets up the standard library's logging and structlog with one format for both."""
    shared: list[Processor] = [
        structlog.contextvars.merge_contextvars,
        structlog.stdlib.add_log_level,
        structlog.stdlib.add_logger_name,
        structlog.stdlib.ExtraAdder(),
        structlog.processors.TimeStamper(fmt="iso", utc=True),
        structlog.processors.format_exc_info,
        redact,
    ]
    renderer = structlog.processors.JSONRenderer() if json_lines else structlog.dev.ConsoleRenderer(colors=False)
    logging.config.dictConfig(
        {
            "version": 1,
            "disable_existing_loggers": False,
            "formatters": {
                "lines": {
                    "()": structlog.stdlib.ProcessorFormatter,
                    "processors": [structlog.stdlib.ProcessorFormatter.remove_processors_meta, renderer],
                    "foreign_pre_chain": shared,
                }
            },
            "handlers": {"stderr": {"class": "logging.StreamHandler", "formatter": "lines"}},
            "root": {"handlers": ["stderr"], "level": level},
            "loggers": {
                "django.server": {"level": "WARNING"},
                "django.request": {"level": "ERROR"},  # a 4xx is the caller's business
                "uvicorn.access": {"level": "WARNING"},
                "uvicorn": {"level": level, "handlers": [], "propagate": True},
                # One line a task, every two seconds for ever, says nothing.
                "celery.app.trace": {"level": "WARNING"},
                "celery.beat": {"level": "WARNING"},
                "celery.worker.strategy": {"level": "WARNING"},
                "urllib3": {"level": "ERROR"},
            },
        }
    )
    structlog.configure(
        processors=[*shared, structlog.stdlib.ProcessorFormatter.wrap_for_formatter],
        logger_factory=structlog.stdlib.LoggerFactory(),
        cache_logger_on_first_use=True,
    )
