"""Credentials as no client library would send them: two of them, or one that is folded over lines."""

from __future__ import annotations

import json
import socket
from pathlib import Path
from urllib.parse import urlsplit

import pytest


def answer(url: str, headers: list[str]) -> tuple[int, str]:
    """Status and body of `GET /api/v1/me/` with exactly these header lines."""
    where = urlsplit(url)
    with socket.create_connection((str(where.hostname), int(where.port or 80)), timeout=30) as connection:
        lines = ["GET /api/v1/me/ HTTP/1.1", f"Host: {where.netloc}", *headers, "Connection: close", "", ""]
        connection.sendall("\r\n".join(lines).encode())
        parts = []
        while part := connection.recv(65536):
            parts.append(part)
    head, _, body = b"".join(parts).decode().partition("\r\n\r\n")
    return int(head.split()[1]), body


@pytest.fixture
def told(credentials: Path) -> tuple[str, str]:
    """Address and a token that works."""
    found = json.loads(credentials.read_text())
    return found["url"], found["users"]["luis"]["token"]


def test_one_header_is_let_in(told: tuple[str, str]) -> None:
    url, token = told
    assert answer(url, [f"Authorization: Bearer {token}"])[0] == 200


@pytest.mark.parametrize("second", ["Bearer {token}", "Bearer other", "Basic eDp5"])
def test_two_headers_are_malformed_whatever_the_second_is(told: tuple[str, str], second: str) -> None:
    url, token = told
    status, body = answer(url, [f"Authorization: Bearer {token}", f"Authorization: {second.format(token=token)}"])
    assert (status, json.loads(body)["code"]) == (401, "malformed_token")
    assert token not in body


def test_a_folded_header_is_no_credential(told: tuple[str, str]) -> None:
    url, token = told
    status, body = answer(url, ["Authorization: Bearer", f" {token}"])
    assert status in (400, 401)
    assert token not in body
