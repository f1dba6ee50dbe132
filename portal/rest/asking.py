"""The database, asked from async code: whoever waits holds no connection meanwhile."""

from __future__ import annotations

from collections.abc import Callable
from typing import ParamSpec, TypeVar

from asgiref.sync import sync_to_async
from django.db import close_old_connections, connection

Parameters = ParamSpec("Parameters")
Answer = TypeVar("Answer")


async def ask(function: Callable[Parameters, Answer], *args: Parameters.args, **kwargs: Parameters.kwargs) -> Answer:
    """Calls it in the request's thread. The connection goes back to the pool at once, not at the request's end."""
    return await sync_to_async(_and_give_back(function))(*args, **kwargs)


async def ask_for_all(
    function: Callable[Parameters, Answer], *args: Parameters.args, **kwargs: Parameters.kwargs
) -> Answer:
    """The same for work of the whole process, in any thread: no request's end would ever give its connection back."""
    return await sync_to_async(_and_give_back(function), thread_sensitive=False)(*args, **kwargs)


def _and_give_back(function: Callable[Parameters, Answer]) -> Callable[Parameters, Answer]:
    def call(*args: Parameters.args, **kwargs: Parameters.kwargs) -> Answer:
        try:
            return function(*args, **kwargs)
        finally:
            # Inside somebody's open transaction the connection is theirs to give back.
            if not connection.in_atomic_block:
                close_old_connections()

    return call
