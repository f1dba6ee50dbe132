"""Sending a wake to a worker: by task name, holding only an id, never blocking a request.

A lost message costs delay and nothing else (the sweep finds the row), so sending gives up at once and, after a failure,
does not try again for a while.
"""

from __future__ import annotations

import logging

from celery import current_app
from kombu.exceptions import ChannelError, OperationalError
from redis.exceptions import RedisError

from portal.kernel import clock

BREAK_SECONDS = 5.0

log = logging.getLogger(__name__)
_open_until = 0.0


def is_open() -> bool:
    """Whether sending rests after a failure."""
    return clock.monotonic() < _open_until


def send(kind: str, object_id: str) -> bool:
    """Queues `<kind>.reconcile(object_id)`; False where the broker does not answer (200 ms limits, no retries)."""
    global _open_until  # noqa: PLW0603  one breaker per process
    if is_open():
        return False
    try:
        current_app.send_task(f"{kind}.reconcile", args=[object_id], ignore_result=True, retry=False)
    except (OperationalError, RedisError, OSError) as error:
        _open_until = clock.monotonic() + BREAK_SECONDS
        log.warning("broker does not answer, the sweep takes over: %s", type(error).__name__)
        return False
    return True


def waiting() -> int:
    """How many messages no worker has taken yet; 0 where the broker does not answer."""
    global _open_until  # noqa: PLW0603  one breaker per process
    if is_open():
        return 0
    try:
        with current_app.connection_or_acquire() as connection:
            queue = current_app.conf.task_default_queue
            return int(connection.default_channel.queue_declare(queue, passive=True).message_count)
    except ChannelError:  # an empty queue is none
        return 0
    except (OperationalError, RedisError, OSError) as error:
        _open_until = clock.monotonic() + BREAK_SECONDS
        log.warning("broker does not answer, the sweep takes over: %s", type(error).__name__)
        return 0
