"""No test reaches an address outside this machine."""

import socket

import pytest

from tests.plugins.sealed import OutsideConnection, is_loopback


@pytest.mark.parametrize("address", ["192.0.2.1", "10.0.0.1", "8.8.8.8"])
def test_an_outside_address_is_refused_at_once(address: str) -> None:
    with socket.socket() as probe, pytest.raises(OutsideConnection, match=address):
        probe.connect((address, 80))


def test_datagrams_stay_here_too() -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe, pytest.raises(OutsideConnection):
        probe.sendto(b"x", ("192.0.2.1", 53))


def test_outside_names_are_not_resolved() -> None:
    with pytest.raises(OutsideConnection, match=r"turno\.example"):
        socket.create_connection(("turno.example", 80))


def test_this_machine_is_reached() -> None:
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        server.listen()
        with socket.create_connection(server.getsockname()) as client:
            assert client.getpeername() == server.getsockname()


@pytest.mark.parametrize(
    ("host", "inside"),
    [
        ("127.0.0.1", True),
        ("127.9.9.9", True),
        ("::1", True),
        ("localhost", True),
        ("notebook-1.localhost", True),
        ("", True),
        (None, True),
        ("0.0.0.0", True),
        (b"localhost", True),
        ("localhost.example", False),
        ("169.254.169.254", False),
        ("fe80::1%eth0", False),
    ],
)
def test_what_counts_as_this_machine(host: str | bytes | None, inside: bool) -> None:
    assert is_loopback(host) is inside
