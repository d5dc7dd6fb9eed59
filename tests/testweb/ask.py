"""How do the tests talk to the web? By sockets of their own, never by our crawler."""

from __future__ import annotations

import http.client
import socket
from dataclasses import dataclass
from urllib.parse import urlsplit


@dataclass
class Reply:
    """One response as the standard library's client reads it."""

    status: int
    headers: dict[str, str]
    body: bytes


def ask(port: int, url: str, method: str = "GET", address: str = "127.0.0.1", **fields: str) -> Reply:
    """One request on a connection of its own; header names are written with `_` for `-`."""
    parts = urlsplit(url)
    target = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    headers = {"Host": parts.netloc} | {name.replace("_", "-"): value for name, value in fields.items()}
    connection = http.client.HTTPConnection(address, port, timeout=10)
    try:
        connection.request(method, target, headers=headers)
        response = connection.getresponse()
        return Reply(
            response.status, {name.lower(): value for name, value in response.getheaders()}, response.read()
        )
    finally:
        connection.close()


def request(host: str, target: str = "/", *fields: str) -> bytes:
    """The bytes of a request."""
    return "\r\n".join([f"GET {target} HTTP/1.1", f"Host: {host}", *fields, "", ""]).encode()


def converse(port: int, wire: bytes, limit: int = 1_000_000, timeout_s: float = 5.0) -> bytes:
    """Whatever comes back until the end, `limit` bytes, or silence for `timeout_s`."""
    with socket.create_connection(("127.0.0.1", port), timeout=timeout_s) as connection:
        connection.sendall(wire)
        received = b""
        while len(received) < limit:
            try:
                piece = connection.recv(65_536)
            except TimeoutError:
                break
            if not piece:
                break
            received += piece
        return received
