"""Seals the suite: a test talks to loopback addresses and unix sockets, and to nothing else."""

import ipaddress
import socket
from collections.abc import Callable, Iterator
from typing import Any

import pytest

LOOPBACK_NAMES = ("localhost", "testserver", "testserver.local")


class OutsideConnection(AssertionError):
    """A test tried to reach an address outside this machine."""


def is_loopback(host: str | bytes | None) -> bool:
    """True for a loopback address, a name that always means this machine, or no host at all (bind to any)."""
    if not host:
        return True
    name = host.decode() if isinstance(host, bytes) else host
    if name in LOOPBACK_NAMES or name.endswith(".localhost"):
        return True
    try:
        address = ipaddress.ip_address(name.partition("%")[0])
    except ValueError:
        return False
    return address.is_loopback or address.is_unspecified


def guarded(original: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap a socket method whose last positional argument is the address."""

    def call(sock: socket.socket, *args: Any) -> Any:
        address = args[-1]
        if sock.family in {socket.AF_INET, socket.AF_INET6} and not is_loopback(address[0]):
            raise OutsideConnection(f"a test tried to reach {address[0]}")
        return original(sock, *args)

    return call


@pytest.fixture(autouse=True, scope="session")
def sealed() -> Iterator[None]:
    """For the whole run, addresses that are not loopback fail at once and names are not resolved."""
    resolve = socket.getaddrinfo

    def getaddrinfo(host: Any, *args: Any, **kwargs: Any) -> Any:
        if not is_loopback(host):
            raise OutsideConnection(f"a test tried to resolve {host}")
        return resolve(host, *args, **kwargs)

    with pytest.MonkeyPatch.context() as patch:
        for method in ("connect", "connect_ex", "sendto"):
            patch.setattr(socket.socket, method, guarded(getattr(socket.socket, method)))
        patch.setattr(socket, "getaddrinfo", getaddrinfo)
        yield
